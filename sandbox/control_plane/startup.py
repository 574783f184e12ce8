"""The order in which the control plane starts, and what each part waits for. About five seconds on two cores."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lightkube import Client

from sandbox.control_plane import keda, kubernetes, prometheus
from sandbox.control_plane.certificates import make as make_certificates
from sandbox.control_plane.component import Component
from sandbox.control_plane.kubeconfigs import client, write_all
from sandbox.control_plane.nodes import Node, register
from sandbox.control_plane.readiness import (
    wait_for_admission,
    wait_for_definitions,
    wait_for_metrics_api,
    wait_for_nodes,
)
from sandbox.layout import Layout, Settings
from sandbox.places import users_path
from sandbox.processes.health import wait_well
from sandbox.processes.process import Process
from sandbox.processes.record import ProcessRecord

Report = Callable[[str], None]

API_TOOLS = ("etcd", "kube-apiserver", "kubectl", "keda-webhooks", "keda-crds")
TOOLS = (
    *API_TOOLS,
    "kube-controller-manager",
    "kube-scheduler",
    "keda-operator",
    "keda-adapter",
    "kwok",
    "prometheus",
)


@dataclass(frozen=True)
class Starting:
    """One sandbox that starts: where it is, and what it is made of."""

    layout: Layout
    settings: Settings
    record: ProcessRecord
    tools: Mapping[str, Path]
    report: Report

    def launch(self, build: Callable[[Layout, Settings], Component]) -> tuple[Process, float]:
        """Start one program: the process, and how long it may take to be ready, in seconds."""
        component = build(self.layout, self.settings)
        argv = (str(self.tools[component.name]), *component.argv)
        process = self.record.start(component.name, argv, component.environment, component.ports, component.health)
        return process, component.ready_s

    def ready(self, *started: tuple[Process, float]) -> None:
        for process, patience_s in started:
            wait_well(process, self.layout.keyring.ca, patience_s)
            self.report(f"  {process.name} is ready")


def start(starting: Starting, nodes: Sequence[Node]) -> None:
    """Write certificates and configuration, start everything in order, and wait until it works.

    Raises:
        SandboxError: a part does not become ready; what was started is in the record.
    """
    layout, settings = starting.layout, starting.settings
    api = _start_api(starting)
    controllers = (kubernetes.controller_manager, kubernetes.scheduler, kubernetes.kwok)
    waiting = [starting.launch(build) for build in controllers]
    prometheus.allow_reading(api)
    prometheus.write_configuration(layout, settings)
    others = (keda.operator, keda.webhooks, keda.adapter, prometheus.component)
    waiting += [starting.launch(build) for build in others]
    register(api, nodes, settings.pod_network)
    starting.ready(*waiting)
    keda.register_metrics(api, layout, settings)
    keda.register_admission(api, layout, settings)
    wait_for_metrics_api(api)
    wait_for_admission(client(layout.kubeconfig, dry_run=True))
    starting.report("  external metrics and admission of KEDA answer")
    wait_for_nodes(api, [node.name for node in nodes])
    starting.report(f"  {len(nodes)} nodes are ready")


def start_api_only(starting: Starting) -> None:
    """As `start`, without anything that acts on objects: etcd, the API server, and KEDA's admission of its own."""
    api = _start_api(starting)
    starting.ready(starting.launch(keda.webhooks))
    keda.register_admission(api, starting.layout, starting.settings)
    wait_for_admission(client(starting.layout.kubeconfig, dry_run=True))


def _start_api(starting: Starting) -> Client:
    """etcd, and the API server with KEDA's kinds."""
    layout, settings = starting.layout, starting.settings
    make_certificates(layout.keyring.directory)
    write_all(layout, settings)
    _link_tools(layout, starting.tools)
    starting.ready(starting.launch(kubernetes.etcd))
    starting.ready(starting.launch(kubernetes.apiserver))
    api = client(layout.kubeconfig)
    keda.create_namespace(api)
    keda.install_definitions(api, starting.tools["keda-crds"])
    wait_for_definitions(api)
    return api


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
