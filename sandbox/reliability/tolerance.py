"""A few replicas more than run, asked for by a KEDA cron trigger and by a floor: what the HPA makes of either."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from lightkube import ApiError
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.resources.apps_v1 import Deployment

from sandbox.layout import Layout
from sandbox.reliability.ground import PERSON, Autoscaler
from sandbox.reliability.oracle import Service
from sandbox.reliability.served import CHAT, Served
from sandbox.reliability.stack_on_disk import ScaledObject
from sandbox.reliability.transition import ending

Say = Callable[[str], None]

# Running and desired. Source: kedacore/keda issues 7398 and 5263, zalando-incubator/kube-metrics-adapter pull 374.
REPLICAS = ((57, 60), (88, 89), (11, 12), (28, 31))
SAMPLE = ((11, 12),)

CRON, CEILING = "cron", 100
PATIENCE_S = 120.0
# The HPA of the sandbox looks every 5 s: what it has not done after so many looks, it does not do.
SETTLED_S = 40.0


@dataclass(frozen=True)
class Row:
    """Replicas that ran, that were desired, and that each way came to; `metric` is what the HPA made of the trigger."""

    running: int
    desired: int
    cron: int
    metric: str
    floor: int


@dataclass
class Tolerance:
    """What came of it."""

    rows: list[Row] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def facts(self) -> dict[str, object]:
        """As plain data."""
        rows = [asdict(row) for row in self.rows]
        return {"rows": rows, "settled_s": round(SETTLED_S), "failures": self.failures}


def measure(layout: Layout, folder: Path, pairs: Collection[tuple[int, int]], say: Say) -> Tolerance:
    """Let both ways ask for each pair's desired replicas, on a whole control plane."""
    found = Tolerance()
    for running, desired in pairs:
        services = (Service(CHAT.name, 1, CEILING, CHAT.lead_s),)
        where = f"tolerance-{running}"
        site = Served(layout, folder / where, where, services, asks_for=running, begins_with=running)
        row = _row(site, desired, found.failures)
        found.rows.append(row)
        say(f"  {running} run, {desired} desired: cron comes to {row.cron}, a floor to {row.floor}")
        site.api.deletecollection(ScaledObject, namespace=site.namespace)
        site.api.deletecollection(Deployment, namespace=site.namespace)
    return found


def _row(site: Served, desired: int, failures: list[str]) -> Row:
    what = f"{site.begins_with} run, {desired} desired"
    site.build()
    site.deploy(CRON)
    for name in (CHAT.name, CRON):
        _within(partial(_has_begun, site, name), f"{what}: {name} has its replicas")
    site.api.apply(ScaledObject(**_cron_object(site.namespace, desired)), field_manager=PERSON)
    _within(lambda: site.in_force() == 1, f"{what}: the floor's HPA is there")
    metric = _within(lambda: _metric(site), f"{what}: the HPA has asked the cron trigger")
    site.sale(is_on=True, floor=desired)
    ran = site.run()
    if ran.exit_code:
        failures.append(f"{what}: sync ended with {ending(ran)}")
    until = time.monotonic() + SETTLED_S
    while time.monotonic() < until and {site.replicas(CRON), site.replicas()} != {desired}:
        time.sleep(1)
    floor = site.replicas()
    if floor != desired:
        failures.append(f"{what}: a floor came to {floor}")
    return Row(site.begins_with, desired, site.replicas(CRON), metric, floor)


def _has_begun(site: Served, name: str) -> bool:
    return site.counted(name) == site.begins_with


def _cron_object(namespace: str, desired: int) -> dict[str, Any]:
    """A trigger that is active for some hours around now."""
    start, end = (datetime.now(UTC) + timedelta(hours=hours) for hours in (-2, 2))
    window = {"start": f"{start:%-M %-H} * * *", "end": f"{end:%-M %-H} * * *", "timezone": "UTC"}
    trigger = {"type": "cron", "metadata": {**window, "desiredReplicas": str(desired)}}
    bounds = {"minReplicaCount": 1, "maxReplicaCount": CEILING, "pollingInterval": 2}
    return {
        "metadata": ObjectMeta(name=CRON, namespace=namespace),
        "spec": {"scaleTargetRef": {"name": CRON}, **bounds, "triggers": [trigger]},
    }


def _metric(site: Served) -> str | None:
    """What the trigger asks for of each replica, as the HPA's status has it."""
    try:
        status = site.api.get(Autoscaler, f"keda-hpa-{CRON}", namespace=site.namespace).get("status") or {}
    except ApiError:
        return None
    for metric in status.get("currentMetrics") or []:
        current = (metric.get("external") or {}).get("current") or {}
        if current.get("averageValue", "0") != "0":
            return str(current["averageValue"])
    return None


def _within(what: Callable[[], Any], saying: str) -> Any:
    until = time.monotonic() + PATIENCE_S
    while not (found := what()):
        if time.monotonic() > until:
            raise AssertionError(f"not within {PATIENCE_S:.0f} s: {saying}")
        time.sleep(0.2)
    return found
