"""Prometheus, scraping pods where their annotations say, through the API server's own list of pods."""

from __future__ import annotations

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from lightkube import Client
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.models.rbac_v1 import RoleRef, Subject
from lightkube.resources.rbac_authorization_v1 import ClusterRoleBinding

from sandbox.control_plane.certificates import USERS
from sandbox.control_plane.component import Component
from sandbox.layout import HOST, Layout, Settings
from sandbox.places import write_private

_TEMPLATES = Path(__file__).resolve().parent


def write_configuration(layout: Layout, settings: Settings) -> Path:
    templates = Environment(  # YAML, so HTML's escapes have no place in it
        loader=FileSystemLoader(_TEMPLATES),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701
        keep_trailing_newline=True,
    )
    content = templates.get_template("prometheus.yml.j2").render(
        scrape_interval_s=settings.scrape_interval_s,
        apiserver=f"https://{HOST}:{settings.ports['kube-apiserver']}",
        ca=layout.keyring.ca,
        token=layout.keyring.token("prometheus"),
    )
    return write_private(layout.prometheus / "prometheus.yml", content)


def allow_reading(client: Client) -> None:
    """Prometheus may read what the role `view` may, which is enough to list pods and no Secret."""
    client.apply(
        ClusterRoleBinding(
            metadata=ObjectMeta(name="warmline-sandbox-prometheus"),
            roleRef=RoleRef(apiGroup="rbac.authorization.k8s.io", kind="ClusterRole", name="view"),
            subjects=[Subject(apiGroup="rbac.authorization.k8s.io", kind="User", name=USERS["prometheus"][0])],
        ),
        force=True,
    )


def component(layout: Layout, settings: Settings) -> Component:
    port = settings.ports["prometheus"]
    argv = (
        f"--config.file={layout.prometheus / 'prometheus.yml'}",
        f"--storage.tsdb.path={layout.prometheus / 'data'}",
        "--storage.tsdb.retention.time=1d",
        f"--web.listen-address={HOST}:{port}",
        "--log.level=warn",
    )
    return Component("prometheus", argv, (port,), f"http://{HOST}:{port}/-/ready")


def url(settings: Settings) -> str:
    return f"http://{HOST}:{settings.ports['prometheus']}"
