"""What each component registers, with URNs and options. A golden shows change; the invariants show wrong.

`make golden` rewrites them; read the diff, a URN that changes replaces an object.
"""

from __future__ import annotations

from typing import Any

from syrupy.assertion import SnapshotAssertion

from infra.assembly import assemble
from infra.dialects.vllm import VLLM
from infra.engine_deployment import EngineDeployment, EngineDeploymentArgs
from infra.engine_scaler import EngineScaler
from infra.engine_service import EngineService, EngineServiceArgs
from infra.image_prepull import ImagePrepull, ImagePrepullArgs
from infra.scaled_object import ScaledObjectArgs
from stacks.engine_metrics import in_flight_query
from stacks.spec import Platform
from tests.components.recorded import plain, registrations
from tests.components.specs import LOADER, platform, service_data


def _deployment(given: Platform, name: str) -> list[dict[str, Any]]:
    service = given.services[name]
    args = EngineDeploymentArgs("test", service, given.node_pools[service.node_pool], VLLM, "serving", LOADER)
    return plain(registrations(lambda: _make(EngineDeployment, name, args)))


def _make(component: Any, name: str, args: Any) -> None:
    component(name, args)


def _pod(registered: list[dict[str, Any]]) -> dict[str, Any]:
    """Take the pod out of the Deployment: it has a golden of its own."""
    deployment = next(item for item in registered if item["type"] == "kubernetes:apps/v1:Deployment")
    pod: dict[str, Any] = deployment["inputs"]["spec"]["template"].pop("spec")
    return pod


def test_engine_deployment(golden: SnapshotAssertion) -> None:
    registered = _deployment(platform(), "support-bot")
    _pod(registered)
    assert registered == golden


def test_engine_pod(golden: SnapshotAssertion) -> None:
    pod = _pod(_deployment(platform(), "support-bot"))
    loader = pod["initContainers"][0]
    assert "aws s3 sync" in loader["command"].pop()
    del pod["affinity"], pod["topologySpreadConstraints"], pod["tolerations"]
    assert pod == golden


def test_engine_placement(golden: SnapshotAssertion) -> None:
    pod = _pod(_deployment(platform(), "support-bot"))
    assert {key: pod[key] for key in ("affinity", "topologySpreadConstraints", "tolerations")} == golden


def test_engine_spread_over_zones(golden: SnapshotAssertion) -> None:
    """Of a service that must survive the loss of one."""
    pod = _pod(_deployment(platform({"support-bot": service_data(zones=3)}), "support-bot"))
    assert pod["topologySpreadConstraints"] == golden


def test_engine_pod_on_four_gpus(golden: SnapshotAssertion) -> None:
    """Only what more GPUs and further arguments change."""
    engine = service_data()["engine"] | {"args": {"max-model-len": "8192", "enable-prefix-caching": ""}}
    given = service_data(
        node_pool="l40s-by-4", gpus_per_replica=4, engine=engine, rollout={"surge": 0, "unavailable": 2}
    )
    registered = _deployment(platform({"big-bot": given}), "big-bot")
    pod = _pod(registered)
    container = pod["containers"][0]
    deployment = next(item for item in registered if item["type"] == "kubernetes:apps/v1:Deployment")
    assert {
        "args": container["args"],
        "resources": container["resources"],
        "volumes": pod["volumes"],
        "affinity": pod["affinity"],
        "strategy": deployment["inputs"]["spec"]["strategy"],
        "options": deployment["options"],
    } == golden


def test_engine_service(golden: SnapshotAssertion) -> None:
    args = EngineServiceArgs("test", "serving", 8000)
    assert plain(registrations(lambda: _make(EngineService, "support-bot", args))) == golden


def test_engine_scaler(golden: SnapshotAssertion) -> None:
    assert _scaler(platform()) == golden


def test_engine_scaler_at_rest(golden: SnapshotAssertion) -> None:
    """A baseline of 0, and a target that is no whole number."""
    capacity = {"in_flight_per_replica": "37.50", "evidence": "bench.md", "kind": "measured"}
    given = service_data(replicas={"min": 0, "max": 4}, capacity=_exact(capacity))
    assert _scaler(platform({"support-bot": given})) == golden


def _exact(capacity: dict[str, Any]) -> dict[str, Any]:
    from decimal import Decimal

    return capacity | {"in_flight_per_replica": Decimal(capacity["in_flight_per_replica"])}


def _scaler(given: Platform) -> list[dict[str, Any]]:
    query = in_flight_query(VLLM.metrics, "serving", "support-8b")
    args = ScaledObjectArgs("test", given.services["support-bot"], "serving", given.prometheus.url, query)
    return plain(registrations(lambda: _make(EngineScaler, "support-bot", args)))


def test_image_prepull(golden: SnapshotAssertion) -> None:
    pool = platform().node_pools["l40s"]
    args = ImagePrepullArgs("test", "serving", "l40s", pool, "vllm/vllm-openai@sha256:" + "2" * 64, (LOADER,))
    assert plain(registrations(lambda: _make(ImagePrepull, "l40s-images", args))) == golden


def test_assembly(golden: SnapshotAssertion) -> None:
    """Two services of one pool and image, one of another: URNs and options of everything, without the insides."""
    services = {
        "support-bot": service_data(),
        "search-bot": service_data(model={"name": "search-8b", "source": "s3://w/search", "revision": "1"}),
        "big-bot": service_data(
            node_pool="l40s-by-4",
            gpus_per_replica=4,
            model={"name": "big-70b", "source": "s3://w/big", "revision": "1"},
        ),
    }
    registered = plain(registrations(lambda: assemble("test", platform(services, cluster={"context": "eks-prod"}))))
    assert [{"urn": item["urn"], **_links(item["options"])} for item in registered] == golden


def _links(options: dict[str, Any]) -> dict[str, Any]:
    shown = {key: value for key, value in options.items() if key not in {"parent", "customTimeouts"}}
    provider = shown.pop("provider", None) or next(iter(shown.pop("providers", {}).values()), None)
    return ({"provider": provider.rpartition("::")[2]} if provider else {}) | shown
