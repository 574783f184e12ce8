"""Is it warm: floor in force on the HPA, that many pods Ready, that many answering a request; if not, by when.

Ready is the only sign that is believed, and a Ready pod that does not answer is found out by asking it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from whenever import Instant, ZonedDateTime

from prescale import absence
from prescale.clock import Clock
from prescale.decision import decide
from prescale.floors.ramp import Rise
from prescale.lead_time.reckoning import LeadTime, of_spec
from prescale.observed import Observed
from prescale.orders.order import NONE, Orders
from prescale.pod_states import PodState
from prescale.windows.window import Timetable, Window
from stacks.spec import Service

# (pod, model name) of every Ready pod -> pod name: what went wrong, None where it answered.
Ask = Callable[[Sequence[tuple[PodState, str]]], Mapping[str, str | None]]


@dataclass(frozen=True)
class Warmth:
    """One service against the floor it should have.

    `missing` says what is not there. `ready_by` is when enough pods will be Ready by the cold start's estimate, None
    where they are; `t0` is when they are needed: the event's start, or its step's where it has a ramp. `late_s` is
    `ready_by` less that (negative: in time), None outside of events.

    These three are of the whole floor, or of the `due` replicas of it that come latest for a start of their own: where
    events overlap, or the steps of a ramp, or an order asks for more than they do.
    """

    service: str
    event: str | None
    floor: int
    hpa_min: int | None
    ready: int
    answering: int
    missing: tuple[str, ...]
    notes: tuple[str, ...] = ()
    ready_by: Instant | None = None
    t0: ZonedDateTime | None = None
    due: int | None = None

    @property
    def is_warm(self) -> bool:
        return not self.missing

    @property
    def late_s(self) -> int | None:
        if self.ready_by is None or self.t0 is None:
            return None
        return round((self.ready_by - self.t0.to_instant()).total("seconds"))


@dataclass(frozen=True)
class Sighting:
    """What one look at `where` showed: scaling objects, pods and orders of the stack, HPA name -> minReplicas.

    Without KEDA there are no ScaledObjects among the objects, and can be none.
    """

    stack: str
    where: str
    observed: Sequence[Observed]
    minimums: Mapping[str, int]
    pods: Sequence[PodState]
    orders: Orders = NONE
    has_keda: bool = True


def look(
    table: Timetable,
    services: Mapping[str, Service],
    sighting: Sighting,
    ask: Ask,
    *,
    at: Instant,
    now: Instant,
    lead_times: Mapping[str, LeadTime] | None = None,
) -> tuple[Warmth, ...]:
    """Judge every service.

    Args:
        at: whose floor is asked for; `now` unless somebody asks about another time.
        now: what estimates of readiness count from.
        lead_times: of services whose starts were measured; of the others platform.yaml says it.
    """
    leads = {name: of_spec(service.cold_start) for name, service in services.items()} | {**(lead_times or {})}
    ready = [pod for pod in sighting.pods if pod.is_ready and pod.service in services]
    answers = ask([(pod, services[pod.service].model.name) for pod in ready]) if ready else {}
    return tuple(
        _of_one(table, name, service, sighting, answers, lead=leads[name], at=at, now=now)
        for name, service in services.items()
    )


def _of_one(
    table: Timetable,
    name: str,
    service: Service,
    sighting: Sighting,
    answers: Mapping[str, str | None],
    *,
    lead: LeadTime,
    at: Instant,
    now: Instant,
) -> Warmth:
    orders = sighting.orders
    windows = (window for window in table.of(name) if window.active(at))
    active = [window for window in windows if not orders.cancel(window.event, name, Clock(at))]
    governing = max(active, key=lambda window: window.floor_at(at), default=None)
    rise = governing.rise_at(at) if governing else None
    observed = next((item for item in sighting.observed if item.service == name), None)
    floor = governing.floor_at(at) if governing else 0
    event = governing.event if governing else None
    notes: tuple[str, ...] = ()
    hpa_min = None
    if observed is None:
        floor = max(floor, service.replicas.min)
        are_others, has_keda = bool(sighting.observed), sighting.has_keda
        said = absence.of(sighting.stack, sighting.where, service.adopted, are_others=are_others, has_keda=has_keda)
        notes = (said,)
    else:
        # What a run would want then: it knows of events that vanished from the calendar, and of broken annotations.
        wanted = decide(observed, table.of(name), table.calendar, Clock(at), orders)
        highest = max(wanted.events, key=lambda held: held.floor, default=None)
        if highest and highest.floor > floor:  # an order, or an event whose start nobody knows any more
            event, rise = highest.event, None
        floor = max(floor, wanted.wanted)
        notes = wanted.findings
        hpa_min = sighting.minimums.get(observed.hpa_name)

    pods = [pod for pod in sighting.pods if pod.service == name]
    ready = [pod for pod in pods if pod.is_ready]
    silent = {pod.name: answers.get(pod.name) for pod in ready if answers.get(pod.name) is not None}
    notes += tuple(f"pod {pod} is Ready and does not answer: {reason}" for pod, reason in sorted(silent.items()))
    notes += tuple(_later_than_planned(pods, lead.total_s, now))
    answering = len(ready) - len(silent)
    # Nothing scales what is not there, and what rests starts nothing: a time of readiness would be made up.
    is_coming = observed is not None and not observed.starts_nothing
    pressing = _pressing(active, pods, lead, at=at, now=now)
    due, rise = (pressing.floor, pressing) if pressing else (floor, rise)
    return Warmth(
        service=name,
        event=event,
        floor=floor,
        hpa_min=hpa_min,
        ready=len(ready),
        answering=answering,
        missing=_missing(floor, hpa_min, len(ready), answering, absent=None if observed else service),
        notes=notes,
        ready_by=ready_by(due, pods, lead, rise, now) if is_coming else None,
        t0=rise.at if rise else None,
        due=None if due == floor else due,
    )


def _pressing(
    active: Iterable[Window], pods: Sequence[PodState], lead: LeadTime, *, at: Instant, now: Instant
) -> Rise | None:
    """Of all that is raised by `at`, what comes latest for its own start; None where nothing comes too late."""
    late: dict[int, Rise] = {}
    for rise in (rise for window in active for rise in window.all_rises if rise.raise_at <= at):
        by = ready_by(rise.floor, pods, lead, rise, now)
        if by and by > rise.at.to_instant():
            late[round((by - rise.at.to_instant()).total("seconds"))] = rise
    return late[max(late)] if late else None


def _missing(floor: int, hpa_min: int | None, ready: int, answering: int, *, absent: Service | None) -> tuple[str, ...]:
    missing = []
    if absent:  # a baseline of 0 asks for no replica now, and no event could raise it
        missing.append(f"{absent.adopted.name} is not adopted" if absent.adopted else "no ScaledObject")
    elif floor and hpa_min is None:
        missing.append("no HPA")
    elif hpa_min is not None and hpa_min < floor:
        missing.append(f"HPA minReplicas is {hpa_min} of {floor}")
    if ready < floor:
        missing.append(f"{ready} of {floor} Ready")
    if answering < min(ready, floor):
        missing.append(f"{answering} of {floor} answering")
    return tuple(missing)


def _later_than_planned(pods: Sequence[PodState], lead_s: int, now: Instant) -> Iterator[str]:
    """Told and not judged: one start in twenty passes its p95, and the margin before T0 is there for it.

    Whether it is too late says T0 alone: `missing` against the floor, `ready_by` against the start.
    """
    for pod in pods:
        age_s = round((now - pod.created).total("seconds"))
        if not pod.is_ready and age_s > lead_s:
            why = f"; {pod.progress.why}" if pod.progress.why else ""
            yield f"pod {pod.name} is later than planned: not Ready after {age_s} s (p95 {lead_s} s){why}"


def ready_by(floor: int, pods: Sequence[PodState], lead: LeadTime, rise: Rise | None, now: Instant) -> Instant | None:
    """When the floor-th pod will be Ready: those on the way by how far they are, the others from their raise on.

    One that has passed its p95 may be Ready any moment: `now` is the earliest, and after T0 it counts as late.
    """
    if sum(pod.is_ready for pod in pods) >= floor:
        return None
    begins = max(now, rise.raise_at) if rise else now
    coming = [pod.progress.ready_at(lead, now) for pod in pods if not pod.is_ready]
    there = [now for pod in pods if pod.is_ready]
    return sorted([*there, *coming, *[begins.add(seconds=lead.total_s)] * floor])[floor - 1]
