"""What a run did to one object, or would do, and whether the object's HPA shows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace
from whenever import Instant

from prescale.decision import Decision
from prescale.observed import FIELDS, Observed
from prescale.orders.order import Order
from prescale.windows.window import Timetable


class Outcome(Struct, frozen=True):
    """What a run did to one object, or would do.

    `was` and `target` are its minimum before and after. `hpa_name` is set where the HPA must show the target, and
    `in_force_s` is how long it took to, in seconds after the patch; None where it was so already, or never was.
    `wanted` is what baseline, events and orders ask for, and `until` when the last of these ends; `orders` are those of
    the service that are in force. `hpa` names the HPA, `hpa_min` is its minReplicas where the run had to look.
    `observed` is the object as it was decided on, and `warm` how many replicas its events are known to have had Ready.
    """

    service: str
    was: int | None
    target: int | None
    patch: dict[str, Any] | None = None
    patched_at: float | None = None
    hpa_name: str | None = None
    in_force_s: float | None = None
    events: tuple[str, ...] = ()
    orders: tuple[Order, ...] = ()
    notes: tuple[str, ...] = ()
    findings: tuple[str, ...] = ()
    wanted: int | None = None
    until: Instant | None = None
    hpa: str | None = None
    hpa_min: int | None = None
    observed: Observed | None = None
    warm: int = 0

    @property
    def is_in_force(self) -> bool:
        """Whether the HPA was seen to show what was asked of it."""
        return self.hpa_name is not None and self.hpa_min is not None and self.hpa_min >= (self.target or 0)

    @property
    def minimum(self) -> str:
        """What the object calls its floor."""
        return FIELDS[self.observed.kind if self.observed else "ScaledObject"].minimum


def outcome_of(
    table: Timetable,
    observed: Observed,
    decision: Decision,
    orders: tuple[Order, ...],
    minimums: Mapping[str, int] | None,
) -> Outcome:
    """The outcome before anything is patched. `minimums` are of HPA names, where they were listed."""
    is_set = decision.patch is not None and decision.target > observed.live
    is_settled = decision.patch is not None or decision.target == observed.live
    is_asked = is_set or bool(decision.events)
    must_show = is_asked and is_settled and not observed.paused and decision.target > 0
    return Outcome(
        service=observed.service,
        was=observed.live,
        target=decision.target,
        patch=decision.patch,
        hpa_name=observed.hpa_name if must_show else None,
        events=tuple(held.event for held in decision.events),
        orders=orders,
        notes=decision.notes,
        findings=(*decision.findings, *(said for service, said in table.findings if service == observed.service)),
        wanted=decision.wanted,
        until=max((held.until for held in decision.events), default=None),
        hpa=observed.hpa_name,
        hpa_min=(minimums or {}).get(observed.hpa_name),
        observed=observed,
        warm=decision.warm,
    )


def checked(outcome: Outcome, minimums: Mapping[str, int], in_force_at: Mapping[str, float]) -> Outcome:
    """The outcome with what its HPA shows; `in_force_at` is HPA name -> when it was first seen to show its target."""
    name = outcome.hpa_name
    outcome = replace(outcome, hpa_min=minimums.get(outcome.hpa or ""))
    if name is None:
        return outcome
    if name in in_force_at:
        if outcome.patched_at is None:
            return outcome
        return replace(outcome, in_force_s=in_force_at[name] - outcome.patched_at)
    shown = f"HPA {name} has minReplicas {minimums[name]}" if name in minimums else f"there is no HPA {name}"
    where = _look_at(outcome.observed) if outcome.observed else ""
    finding = f"the floor is not in force: {shown}, not {outcome.target}. {where}"
    return replace(outcome, findings=(*outcome.findings, finding))


def _look_at(observed: Observed) -> str:
    if observed.kind == "HorizontalPodAutoscaler":
        return f"Who put it back is in `kubectl get hpa {observed.name} -o yaml --show-managed-fields`."
    return f"Look at `kubectl describe scaledobject {observed.name}`: KEDA keeps the old HPA while a trigger is broken."
