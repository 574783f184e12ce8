"""Platforms for tests: one by hand, and any the spec allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from stacks.fit import misfits
from stacks.folders import PLATFORM_FILE, stacks_root
from stacks.spec import Platform

DIGEST = "sha256:" + "2" * 64
LOADER = "public.ecr.aws/aws-cli/aws-cli@sha256:" + "1" * 64


def service_data(**changes: Any) -> dict[str, Any]:
    """A service as its YAML reads, one GPU a replica; `changes` replace whole fields."""
    data: dict[str, Any] = {
        "owner": "support-platform",
        "node_pool": "l40s",
        "gpus_per_replica": 1,
        "model": {"name": "support-8b", "source": "s3://weights/support-8b", "revision": "3f2c9e1"},
        "engine": {
            "kind": "vllm",
            "version": "0.33.0",
            "image": f"vllm/vllm-openai@{DIGEST}",
            "max_num_seqs": 64,
        },
        "slo": {"ttft_p95_ms": 600, "tpot_p95_ms": 20},
        "capacity": {"in_flight_per_replica": 40, "evidence": "bench.md", "kind": "illustrative"},
        "replicas": {"min": 2, "max": 16},
        "longest_stream_s": 180,
        "cold_start": {"weights_s": 120, "engine_start_s": 180},
    }
    return data | changes


def platform_data(services: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    """A platform as its YAML reads, with one pool of each node size."""
    data: dict[str, Any] = {
        "prometheus": {"url": "http://prometheus.monitoring:9090"},
        "weights_loader": {"image": LOADER},
        "node_pools": {
            "l40s": {"instance_types": ["g6e.2xlarge"], "max_nodes": 64},
            "l40s-by-4": {"instance_types": ["g6e.12xlarge", "g6e.48xlarge"], "max_nodes": 64},
            "own": {"instance_types": ["rack-7"], "gpus_per_node": 2, "max_nodes": 64, "local_disk_path": "/data"},
        },
        "services": services or {"support-bot": service_data()},
    }
    return data | changes


def platform(services: dict[str, Any] | None = None, **changes: Any) -> Platform:
    return Platform.model_validate(platform_data(services, **changes))


def shipped_stacks() -> list[str]:
    """Every stack in the repository."""
    return sorted(path.parent.name for path in stacks_root(Path(__file__)).glob(f"*/{PLATFORM_FILE}"))


_NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?", fullmatch=True)
_SERVICE_NAMES = st.from_regex(r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?", fullmatch=True)
_MODEL_NAMES = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9._]{0,20}[A-Za-z0-9])?", fullmatch=True)


@st.composite
def _services(draw: st.DrawFn) -> dict[str, Any]:
    pool, gpus = draw(st.sampled_from([("l40s", 1), ("l40s-by-4", 1), ("l40s-by-4", 2), ("l40s-by-4", 4), ("own", 2)]))
    ceiling = draw(st.integers(1, 64))
    in_flight = draw(st.integers(1, 63))
    surge = draw(st.integers(0, 4))
    return service_data(
        node_pool=pool,
        gpus_per_replica=gpus,
        model={"name": draw(_MODEL_NAMES), "source": "s3://weights/any", "revision": draw(_MODEL_NAMES)},
        capacity={"in_flight_per_replica": in_flight, "evidence": "bench.md", "kind": "measured"},
        replicas={"min": draw(st.integers(0, ceiling)), "max": ceiling},
        zones=draw(st.none() | st.integers(2, 12)),
        longest_stream_s=draw(st.integers(1, 7200)),
        cold_start={
            "node_s": draw(st.integers(0, 900)),
            "image_s": draw(st.integers(0, 900)),
            "weights_s": draw(st.integers(0, 1800)),
            "engine_start_s": draw(st.integers(1, 3600)),
        },
        scale_down={"window_s": draw(st.integers(0, 3600)), "replicas": 2, "period_s": 30},
        rollout={"surge": surge, "unavailable": draw(st.integers(1 if surge == 0 else 0, 4))},
    )


@st.composite
def platforms(draw: st.DrawFn) -> Platform:
    """Any platform of one or two services that the loader would accept."""
    names = draw(st.lists(_SERVICE_NAMES, min_size=1, max_size=2, unique=True))
    services = {name: draw(_services()) for name in names}
    for index, service in enumerate(services.values()):
        service["model"]["name"] += str(index)  # two services of a namespace never serve one name
    made = platform(services, namespace=draw(_NAMES))
    assert not list(misfits(made))
    return made
