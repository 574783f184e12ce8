"""Two plans of one stack compared: what becomes of each event's floor and times, and what of it is a risk. Pure.

A plan is what `prescale plan -o json` prints. Each may come from another revision's code, so only that form is read,
and nothing is reckoned anew: a change of the reckoning itself shows like any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from whenever import Instant

from prescale.calling_off import how
from prescale.printed import Number, count, number, text

# What a load is reckoned from, by its unit; what else a plan says of it follows.
LOAD_INPUTS = {
    "rps": ("rps", "request_duration_s", "in_flight_per_replica"),
    "multiplier": ("rps", "request_duration_s", "in_flight_per_replica"),
    "in_flight": ("in_flight", "in_flight_per_replica"),
    "tokens_per_s": ("tokens_per_s", "tokens_per_s_per_replica"),
    "replicas": ("replicas",),
}
# The inputs of all units, and the rest.
FLOOR_INPUTS = (*dict.fromkeys(name for names in LOAD_INPUTS.values() for name in names), "headroom_pct")
RAMP_INPUTS = ("ramp_steps", "ramp_over_s")
TIME_INPUTS = ("lead_time_s", "margin_s", *RAMP_INPUTS)
# What moves neither floor nor time, and tells people whose event it is and which of two comes first.
ABOUT = ("title", "owner", "priority")

Kind = Literal["added", "removed", "cancelled", "reinstated", "moved", "changed"]


@dataclass(frozen=True)
class Planned:
    """One event for one service, as a plan has it. `gpus_per_replica` is None where no object says it.

    `about` holds those of `ABOUT` that the plan has a place for; None where nothing is said.
    """

    event: str
    service: str
    is_cancelled: bool
    floor: int
    baseline: int
    raise_at: Instant
    start: Instant
    end: Instant
    zone: str
    inputs: Mapping[str, Number]
    about: Mapping[str, str | Number | None] = field(default_factory=dict)
    gpus_per_replica: int | None = None

    @property
    def gpus_at_floor(self) -> int | None:
        return None if self.gpus_per_replica is None else self.floor * self.gpus_per_replica

    @property
    def in_force(self) -> int:
        """Replicas that are there while it is active, whatever else is."""
        return max(self.floor, self.baseline)

    def is_over(self, now: Instant) -> bool:
        return self.end <= now

    def is_active(self, now: Instant) -> bool:
        return not self.is_cancelled and self.raise_at <= now < self.end


Plan = Mapping[tuple[str, str], Planned]
"""By event and service."""


@dataclass(frozen=True)
class Cause:
    """One number the floor or the raise time was reckoned from, or what is said about the event.

    None on the side that reckons without it, or says nothing.
    """

    name: str
    before: str | Number | None
    after: str | Number | None


@dataclass(frozen=True)
class EventChange:
    """One event for one service that is not the same in both. `by_code`: no number changed that would explain it."""

    kind: Kind
    before: Planned | None
    after: Planned | None
    causes: tuple[Cause, ...] = ()
    by_code: bool = False

    @property
    def sides(self) -> tuple[Planned, ...]:
        """Before and after, as far as it is there."""
        return tuple(side for side in (self.before, self.after) if side is not None)


@dataclass(frozen=True)
class PlanChange:
    """`events` in order of time, those that are over last. A finding is what may leave an event short of replicas."""

    events: tuple[EventChange, ...]
    findings: tuple[str, ...]


def read(printed: Any, gpus_per_replica: Mapping[str, int]) -> Plan:
    """The plan that was `printed`, with the GPUs of each service's replica.

    Raises:
        ValueError: it is not a plan.
    """
    try:
        planned = [_planned(item, gpus_per_replica) for item in printed["events"]]
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"not a plan: {error!r}") from None
    return {(item.event, item.service): item for item in planned}


def compare(before: Plan, after: Plan, now: Instant) -> PlanChange:
    """What becomes of the events `before` once those `after` are planned.

    Args:
        now: what is over by then is told where it was added or removed, and is never a finding.
    """
    changes: list[EventChange] = []
    findings: list[tuple[Instant, str]] = []
    for key in sorted(before.keys() | after.keys()):
        was, becomes = before.get(key), after.get(key)
        change = _change(was, becomes, now)
        changes += [change] if change else []
        if was is not None:
            findings += [(was.raise_at, said) for said in _findings(was, becomes, now)]
    return PlanChange(
        tuple(sorted(changes, key=lambda change: _order(change, now))), tuple(said for _, said in sorted(findings))
    )


def _order(change: EventChange, now: Instant) -> tuple[bool, Instant]:
    return all(side.is_over(now) for side in change.sides), min(side.raise_at for side in change.sides)


def _planned(item: Any, gpus_per_replica: Mapping[str, int]) -> Planned:
    zone = text(item["timezone"] or "UTC")
    moments = [Instant.parse_iso(text(item[name])) for name in ("raise_at", "start", "end")]
    for moment in moments:
        moment.to_tz(zone)  # it will be printed in it
    service = text(item["service"])
    return Planned(
        event=text(item["name"]),
        service=service,
        is_cancelled=item["state"] == "cancelled",
        floor=count(item["floor"]),
        baseline=count(item["baseline"]),
        raise_at=moments[0],
        start=moments[1],
        end=moments[2],
        zone=zone,
        inputs={name: number(value) for name, value in _inputs(item)},
        about={name: _word(item[name]) for name in ABOUT if name in item},
        gpus_per_replica=gpus_per_replica.get(service),
    )


def _word(value: Any) -> str | Number | None:
    return value if value is None or isinstance(value, str) else number(value)


def _inputs(item: Any) -> Iterator[tuple[str, Any]]:
    """What floor and times were reckoned from, by name: no more than the plan has."""
    unit = text(item.get("unit", "rps"))  # plans that say none know only arrivals
    if unit not in LOAD_INPUTS:
        raise TypeError(f"{unit!r} is no unit of a load")
    for name in (*LOAD_INPUTS[unit], "headroom_pct", "lead_time_s", "margin_s"):
        yield name, item[name]
    ramp = item.get("ramp")
    if ramp is not None:
        yield from zip(RAMP_INPUTS, (ramp["steps"], ramp["over_s"]), strict=True)


def _change(was: Planned | None, becomes: Planned | None, now: Instant) -> EventChange | None:
    if was is None or becomes is None:
        return EventChange("added" if was is None else "removed", was, becomes)
    if was.is_over(now) and becomes.is_over(now):
        return None
    causes = tuple(
        Cause(name, was.inputs.get(name), becomes.inputs.get(name))
        for name in (*FLOOR_INPUTS, *TIME_INPUTS)
        if was.inputs.get(name) != becomes.inputs.get(name)
    )
    by_code = _is_by_code(was, becomes, {cause.name for cause in causes})
    causes += tuple(
        Cause(name, was.about[name], becomes.about[name])
        for name in ABOUT
        if name in was.about.keys() & becomes.about.keys() and was.about[name] != becomes.about[name]
    )
    if was.is_cancelled != becomes.is_cancelled:
        kind: Kind = "cancelled" if becomes.is_cancelled else "reinstated"
    elif (was.start, was.end, was.zone) != (becomes.start, becomes.end, becomes.zone):
        kind = "moved"
    elif (causes or by_code or was.gpus_at_floor != becomes.gpus_at_floor) and not becomes.is_cancelled:
        kind = "changed"
    else:
        return None
    return EventChange(kind, was, becomes, causes, by_code)


def _is_by_code(was: Planned, becomes: Planned, causes: set[str]) -> bool:
    """Whether floor or raise time differ although all they are reckoned from is the same."""
    takes_s = (was.start - was.raise_at, becomes.start - becomes.raise_at)
    other_floor = was.floor != becomes.floor and not causes & {*FLOOR_INPUTS}
    return other_floor or (takes_s[0] != takes_s[1] and not causes & {*TIME_INPUTS})


def _findings(was: Planned, becomes: Planned | None, now: Instant) -> Iterator[str]:
    if was.is_cancelled or was.is_over(now):
        return
    when = "active" if was.is_active(now) else "still to come"
    name = f"{was.event}, {was.service}"
    if becomes is None:
        held = f"it is held to its recorded end if it is raised already: {how(was.event)}"
        yield f"{name}: removed while it is {when}, with its floor of {was.floor}; {held}."
    elif becomes.is_cancelled:
        return
    elif becomes.is_over(now):
        yield f"{name}: moved into the past while it is {when}; its floor of {was.floor} is not held."
    elif was.is_active(now) and not becomes.is_active(now):
        yield f"{name}: moved away while it is active; its floor of {was.floor} is let go at the next `prescale sync`."
    elif becomes.floor < was.floor and becomes.in_force < was.in_force:
        yield f"{name}: floor lowered from {was.floor} to {becomes.floor} while it is {when}."
