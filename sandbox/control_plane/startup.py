"""The order in which the control plane starts, and what each part waits for. About five seconds on two cores."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sandbox.control_plane import keda, kubernetes, prometheus
from sandbox.control_plane.certificates import make as make_certificates
from sandbox.control_plane.component import Component
from sandbox.control_plane.kubeconfigs import client, write_all
from sandbox.control_plane.nodes import Node, register
from sandbox.control_plane.readiness import wait_for_definitions, wait_for_metrics_api, wait_for_nodes
from sandbox.layout import Layout, Settings
from sandbox.places import users_path
from sandbox.processes.health import wait_well
from sandbox.processes.process import Process
from sandbox.processes.record import ProcessRecord

Report = Callable[[str], None]

TOOLS = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
    "keda-operator",
    "keda-adapter",
    "keda-webhooks",
    "keda-crds",
    "kwok",
    "prometheus",
)


def start(
    layout: Layout,
    settings: Settings,
    record: ProcessRecord,
    tools: Mapping[str, Path],
    *,
    nodes: Sequence[Node],
    report: Report,
) -> None:
    """Write certificates and configuration, start everything in order, and wait until it works.

    Raises:
        SandboxError: a part does not become ready; what was started is in the record.
    """
    make_certificates(layout.keyring.directory)
    write_all(layout, settings)
    _link_tools(layout, tools)
    ca = layout.keyring.ca

    def launch(component: Component) -> tuple[Process, float]:
        health = component.health
        program = str(tools[component.name])
        argv = (program, *component.argv)
        return record.start(component.name, argv, component.environment, component.ports, health), component.ready_s

    def ready(*started: tuple[Process, float]) -> None:
        for process, patience_s in started:
            wait_well(process, ca, patience_s)
            report(f"  {process.name} is ready")

    ready(launch(kubernetes.etcd(layout, settings)))
    ready(launch(kubernetes.apiserver(layout, settings)))
    controllers = (kubernetes.controller_manager, kubernetes.scheduler, kubernetes.kwok)
    waiting = [launch(build(layout, settings)) for build in controllers]
    api = client(layout.kubeconfig)
    keda.create_namespace(api)
    keda.install_definitions(api, tools["keda-crds"])
    wait_for_definitions(api)
    prometheus.allow_reading(api)
    prometheus.write_configuration(layout, settings)
    waiting += [launch(build(layout, settings)) for build in (keda.operator, keda.webhooks, keda.adapter)]
    waiting.append(launch(prometheus.component(layout, settings)))
    register(api, nodes, settings.pod_network)
    ready(*waiting)
    keda.register(api, layout, settings)
    wait_for_metrics_api(api)
    report("  external metrics and admission of KEDA answer")
    wait_for_nodes(api, [node.name for node in nodes])
    report(f"  {len(nodes)} nodes are ready")


def _link_tools(layout: Layout, tools: Mapping[str, Path]) -> None:
    layout.bin.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, path in tools.items():
        if (
            path.is_file()
            and shutil.which(name, path=users_path()) != str(path)
            and name != "pulumi-resource-kubernetes"
        ):
            (layout.bin / name).symlink_to(path)
    pulumi = layout.bin / "pulumi"
    if pulumi.is_symlink():
        # Pulumi follows links to itself, and warns when its language host is not where that leads.
        program = pulumi.resolve()
        pulumi.unlink()
        try:
            pulumi.hardlink_to(program)
        except OSError:  # another file system
            shutil.copy(program, pulumi)
