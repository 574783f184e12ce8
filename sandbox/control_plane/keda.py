"""KEDA outside the cluster it serves: its custom resources, its three programs, and how the API server finds them.

Source: KEDA 2.21 flags (cmd/operator, cmd/adapter, cmd/webhooks) and config/webhooks of its module.
"""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path
from typing import cast

import yaml
from lightkube import Client
from lightkube.core.resource import GlobalResource, NamespacedResource
from lightkube.models.admissionregistration_v1 import (
    RuleWithOperations,
    ValidatingWebhook,
    WebhookClientConfig,
)
from lightkube.models.apiregistration_v1 import APIServiceSpec, ServiceReference
from lightkube.models.core_v1 import ServicePort, ServiceSpec
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.admissionregistration_v1 import ValidatingWebhookConfiguration
from lightkube.resources.apiextensions_v1 import CustomResourceDefinition
from lightkube.resources.apiregistration_v1 import APIService
from lightkube.resources.core_v1 import Namespace, Service

from sandbox.control_plane.component import Component
from sandbox.faults import SandboxError
from sandbox.layout import HOST, Layout, Settings

NAMESPACE = "keda"
_METRICS_SERVICE = "keda-metrics-apiserver"

# What the webhooks program serves: group, plural, and kind in lower case (part of its URL).
_VALIDATED = (
    ("keda.sh", "scaledobjects", "scaledobject"),
    ("keda.sh", "scaledjobs", "scaledjob"),
    ("keda.sh", "triggerauthentications", "triggerauthentication"),
    ("keda.sh", "clustertriggerauthentications", "clustertriggerauthentication"),
    ("eventing.keda.sh", "cloudeventsources", "cloudeventsource"),
    ("eventing.keda.sh", "clustercloudeventsources", "clustercloudeventsource"),
)


def install_definitions(client: Client, crds: Path) -> None:
    """All of KEDA's custom resources: without the eventing ones the operator ends itself after two minutes."""
    files = sorted(crds.glob("*.yaml"))
    if not files:
        raise SandboxError(f"{crds}: no KEDA definitions in it. Delete it and run `warmline sandbox up` again.")
    for file in files:
        definition = cast(
            CustomResourceDefinition, CustomResourceDefinition.from_dict(yaml.safe_load(file.read_text()))
        )
        client.apply(definition, force=True)


def register_metrics(client: Client, layout: Layout, settings: Settings) -> None:
    """Tell the API server where external metrics are answered."""
    objects: list[GlobalResource | NamespacedResource] = [
        Service(
            metadata=ObjectMeta(name=_METRICS_SERVICE, namespace=NAMESPACE),
            # An ordinary Service would need endpoints, and those may not be loopback addresses.
            spec=ServiceSpec(
                type="ExternalName",
                externalName="localhost",
                ports=[ServicePort(port=settings.ports["keda-adapter"], protocol="TCP", name="https")],
            ),
        ),
        APIService(
            metadata=ObjectMeta(name="v1beta1.external.metrics.k8s.io"),
            spec=APIServiceSpec(
                group="external.metrics.k8s.io",
                version="v1beta1",
                groupPriorityMinimum=100,
                versionPriority=100,
                caBundle=_authority(layout),
                service=ServiceReference(
                    name=_METRICS_SERVICE, namespace=NAMESPACE, port=settings.ports["keda-adapter"]
                ),
            ),
        ),
    ]
    for one in objects:
        client.apply(one, force=True)


def register_admission(client: Client, layout: Layout, settings: Settings) -> None:
    """Tell the API server where KEDA's objects are reviewed before they are admitted."""
    configuration = ValidatingWebhookConfiguration(
        metadata=ObjectMeta(name="keda-admission"),
        webhooks=[
            ValidatingWebhook(
                name=f"v{kind}.kb.io",
                admissionReviewVersions=["v1"],
                sideEffects="None",
                timeoutSeconds=10,
                # Ignore, as KEDA ships it, would let a bad object in while the program starts.
                failurePolicy="Fail",
                clientConfig=WebhookClientConfig(
                    url=f"https://localhost:{settings.ports['keda-webhooks']}"
                    f"/validate-{group.replace('.', '-')}-v1alpha1-{kind}",
                    caBundle=_authority(layout),
                ),
                rules=[
                    RuleWithOperations(
                        apiGroups=[group],
                        apiVersions=["v1alpha1"],
                        operations=["CREATE", "UPDATE"],
                        resources=[plural],
                    )
                ],
            )
            for group, plural, kind in _VALIDATED
        ],
    )
    client.apply(configuration, force=True)


def _authority(layout: Layout) -> str:
    return b64encode(layout.keyring.ca.read_bytes()).decode()


def create_namespace(client: Client) -> None:
    client.apply(Namespace(metadata=ObjectMeta(name=NAMESPACE)), force=True)


def operator(layout: Layout, settings: Settings) -> Component:
    return _manager(
        "keda-operator",
        layout,
        settings,
        f"--metrics-service-bind-address={HOST}:{settings.ports['keda-operator']}",
        "--enable-webhook-patching=false",
        "--enable-apiservice-patching=false",
    )


def webhooks(layout: Layout, settings: Settings) -> Component:
    return _manager("keda-webhooks", layout, settings, f"--port={settings.ports['keda-webhooks']}")


def adapter(layout: Layout, settings: Settings) -> Component:
    kubeconfig, ports = layout.kubeconfig_of("keda"), settings.ports
    port = ports["keda-adapter"]
    argv = (
        f"--kubeconfig={kubeconfig}",
        f"--lister-kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        f"--port={ports['keda-adapter-metrics']}",
        f"--metrics-service-address=localhost:{ports['keda-operator']}",
        f"--cert-dir={layout.keyring.directory}",
        f"--tls-cert-file={layout.keyring.certificate}",
        f"--tls-private-key-file={layout.keyring.key}",
    )
    return Component(
        "keda-adapter",
        argv,
        (port, ports["keda-adapter-metrics"]),
        f"https://{HOST}:{port}/healthz",
        environment=_environment(kubeconfig),
    )


def _manager(name: str, layout: Layout, settings: Settings, *own: str) -> Component:
    """Operator and webhooks are managers of controller-runtime, which gives both the same flags."""
    kubeconfig, ports = layout.kubeconfig_of("keda"), settings.ports
    health, metrics = ports[f"{name}-health"], ports[f"{name}-metrics"]
    argv = (
        f"--kubeconfig={kubeconfig}",
        f"--cert-dir={layout.keyring.directory}",
        f"--metrics-bind-address={HOST}:{metrics}",
        f"--health-probe-bind-address={HOST}:{health}",
        "--zap-log-level=info",
        "--zap-encoder=console",
        "--zap-time-encoding=rfc3339",
        *own,
    )
    return Component(
        name,
        argv,
        (ports[name], health, metrics),
        f"http://{HOST}:{health}/readyz",
        environment=_environment(kubeconfig),
    )


def _environment(kubeconfig: Path) -> dict[str, str]:
    return {
        "KUBECONFIG": str(kubeconfig),
        "WATCH_NAMESPACE": "",  # all of them
        "POD_NAMESPACE": NAMESPACE,
        "KEDA_CLUSTER_OBJECT_NAMESPACE": NAMESPACE,
    }
