"""The servers a raise goes through: the API server's clock, KEDA's metrics and its webhook.

Source: KEDA 2.21, config/metrics-server/api_service.yaml and config/webhooks.
"""

from __future__ import annotations

from collections.abc import Iterator

from prescale.clock import TOLERANCE_S
from prescale.preflight.finding import Found
from prescale.preflight.kinds.meta import condition
from prescale.preflight.scene import Scene
from prescale.preflight.seen import API_SERVICES, WEBHOOKS

EXTERNAL_METRICS = "v1beta1.external.metrics.k8s.io"


def clock(scene: Scene) -> Iterator[Found]:
    if not scene.clock.is_sure:
        side = "ahead of" if scene.clock.skew_s > 0 else "behind"
        yield Found(
            what="this machine's clock",
            got=f"{abs(scene.clock.skew_s)} s {side} the API server's",
            expected=f"within {TOLERANCE_S} s, or nothing is lowered",
            fix="Set it (NTP).",
        )


def external_metrics(scene: Scene) -> Iterator[Found]:
    """Without it no HPA of KEDA's can read its metric: the floor holds, and nothing above it follows the load."""
    if not scene.is_on_keda:
        return
    found = next((one for one in scene.seen.of(API_SERVICES) if one.metadata.name == EXTERNAL_METRICS), None)
    said = condition(found.status.conditions, "Available") if found else None
    if found is None or said is None or said.status != "True":
        got = "nothing" if found is None else f"not available, {said.reason}: {said.message}" if said else "no word"
        yield Found(
            what=f"APIService {EXTERNAL_METRICS}",
            got=got,
            expected="KEDA's metrics server, available",
            fix="See that keda-operator-metrics-apiserver runs, and that no other adapter took the API.",
        )


def webhook(scene: Scene) -> Iterator[Found]:
    """Without it a ScaledObject that cannot work is taken in, and found out when the floor is not in force."""
    if not scene.is_on_keda:
        return
    is_there = any(
        "keda.sh" in rule.api_groups and {"scaledobjects", "*"} & set(rule.resources)
        for one in scene.seen.of(WEBHOOKS)
        for hook in one.webhooks
        for rule in hook.rules
    )
    if not is_there:
        yield Found(
            what="KEDA's admission webhook",
            got="nothing",
            expected="one that looks at ScaledObjects",
            fix="Install keda-admission-webhooks: a floor above the ceiling, or a second owner, is refused by it.",
        )
