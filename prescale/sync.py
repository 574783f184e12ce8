"""One run: read every object of the stack, decide, patch, and see that the HPAs follow."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from whenever import Instant

from prescale import absence
from prescale.clock import Clock
from prescale.decision import Decision, decide
from prescale.objects import Conflict, Objects, Refused
from prescale.observed import Observed, observe
from prescale.orders import store
from prescale.orders.order import Order, Orders
from prescale.timetable import Timetable
from stacks.reach import OutOfReach

# A write in between is answered by reading and deciding again; each time somebody else has won.
ATTEMPTS = 8
# KEDA takes a change over within a second or two; the HPA shows it at once.
IN_FORCE_WITHIN_S = 10.0
POLL_S = 0.25


@dataclass(frozen=True)
class Outcome:
    """What a run did to one object, or would do.

    `was` and `target` are minReplicaCount before and after. `hpa_name` is set where the HPA must show the target, and
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


@dataclass(frozen=True)
class Run:
    """The surroundings of one run, over `services` or, by hand, over some of them.

    For dry runs only, `at` plays another time, `proposed` are orders as if they had been said, and `taken_back` names
    those as if they had not. `by_hand` and `lets_a_person_go` are `decide`'s.
    """

    stack: str
    table: Timetable
    services: tuple[str, ...]
    objects: Objects
    read_clock: Callable[[], Instant]
    dry_run: bool = False
    at: Instant | None = None
    proposed: tuple[Order, ...] = ()
    taken_back: tuple[str, ...] = ()
    by_hand: bool = False
    lets_a_person_go: bool = False

    def clock(self) -> Clock:
        """The time to decide by: asked anew before every decision."""
        return Clock(self.at) if self.at else self.objects.clock(self.read_clock())

    def orders(self) -> Orders:
        """What is ordered: asked after every read of an object, so that a record never knows more."""
        found = store.read(self.objects, self.stack)
        said = (order for order in found.said if order.name not in self.taken_back)
        return Orders((*said, *self.proposed), found.unreadable)

    def decide(self, observed: Observed, orders: Orders) -> Decision:
        """What to do to one object."""
        return decide(
            observed,
            self.table.of(observed.service),
            self.table.calendar,
            self.clock(),
            orders,
            by_hand=self.by_hand,
            lets_a_person_go=self.lets_a_person_go,
        )


def sync(run: Run) -> tuple[Outcome, ...]:
    """Make the floors of one stack true.

    Returns: one outcome for each object with the stack's label, then one for each service that has none.

    Raises:
        OutOfReach: the cluster did not answer; its text says what had been changed before, if anything.
    """
    outcomes: list[Outcome] = []
    found = sorted(map(observe, run.objects.scaled_objects(run.stack)), key=lambda observed: observed.name)
    orders = run.orders()
    for observed in found:
        if run.by_hand and observed.service not in run.services:
            continue
        try:
            outcomes.append(_settle(run, observed, orders))
        except OutOfReach as error:
            raise _after(outcomes, error) from None
    outcomes += _without_object(run, {observed.service for observed in found}, orders)
    if run.dry_run or not any(outcome.hpa_name for outcome in outcomes):
        return tuple(outcomes)
    try:
        return _verify(run, outcomes)
    except OutOfReach as error:
        raise _after(outcomes, error) from None


def _settle(run: Run, observed: Observed, orders: Orders) -> Outcome:
    """Decide and patch until nobody writes in between."""
    for _ in range(ATTEMPTS):
        decision = run.decide(observed, orders)
        outcome = _outcome(run.table, observed, decision, orders.in_force(run.clock(), observed.service))
        if run.dry_run or decision.patch is None:
            return outcome
        try:
            run.objects.patch(observed.name, decision.patch)
        except Refused as error:
            fix = "Mend the ScaledObject, or give the user a Role that may patch it, then run sync again."
            reason = f"the patch was refused: {error}. {fix}"
            return replace(outcome, patch=None, hpa_name=None, findings=(*outcome.findings, reason))
        except Conflict:
            latest = run.objects.scaled_object(observed.name)
            if latest is None:
                return replace(outcome, patch=None, hpa_name=None, notes=("it was deleted meanwhile",))
            observed, orders = observe(latest), run.orders()
        else:
            return replace(outcome, patched_at=time.monotonic())
    reason = f"somebody else wrote it {ATTEMPTS} times while we tried. Find out who, then run sync again."
    return Outcome(observed.service, observed.live, None, findings=(reason,))


def _outcome(table: Timetable, observed: Observed, decision: Decision, orders: tuple[Order, ...]) -> Outcome:
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
        observed=observed,
        warm=decision.warm,
    )


def _without_object(run: Run, seen: set[str], orders: Orders) -> list[Outcome]:
    outcomes = []
    for service in run.services:
        if service in seen:
            continue
        if not seen:
            # Also without an event: who finds it out at the raise has no time left to build it.
            text = absence.nothing_of(run.stack, run.objects.where)
            outcomes.append(Outcome(service, None, None, findings=(text,)))
            continue
        clock = run.clock()
        windows = (window for window in run.table.of(service) if window.active(clock.now))
        active = [window for window in windows if not orders.cancel(window.event, service, clock)]
        text = absence.not_among_the_others(run.stack, run.objects.where)
        if active:
            outcomes.append(Outcome(service, None, None, findings=(f"{active[0].event}: {text}",)))
        else:
            outcomes.append(Outcome(service, None, None, notes=(text,)))
    return outcomes


def _verify(run: Run, outcomes: list[Outcome]) -> tuple[Outcome, ...]:
    """Look at the HPAs until all follow or the time is up.

    Also where this run patched nothing: another one, at work or killed, may have patched a moment ago.
    """
    in_force_at: dict[str, float] = {}
    deadline = time.monotonic() + IN_FORCE_WITHIN_S
    while True:
        minimums = run.objects.minimums()
        now = time.monotonic()
        waiting = False
        for outcome in outcomes:
            if outcome.hpa_name is None:
                continue
            if minimums.get(outcome.hpa_name, 0) >= (outcome.target or 0):
                in_force_at.setdefault(outcome.hpa_name, now)
            else:
                waiting = True
        if not waiting or now >= deadline:
            return tuple(_checked(outcome, minimums, in_force_at) for outcome in outcomes)
        time.sleep(POLL_S)


def _checked(outcome: Outcome, minimums: dict[str, int], in_force_at: dict[str, float]) -> Outcome:
    name = outcome.hpa_name
    outcome = replace(outcome, hpa_min=minimums.get(outcome.hpa or ""))
    if name is None:
        return outcome
    if name in in_force_at:
        if outcome.patched_at is None:
            return outcome
        return replace(outcome, in_force_s=in_force_at[name] - outcome.patched_at)
    shown = f"HPA {name} has minReplicas {minimums[name]}" if name in minimums else f"there is no HPA {name}"
    fix = (
        f"Look at `kubectl describe scaledobject {outcome.service}`: KEDA keeps the old HPA while a trigger is broken."
    )
    finding = f"the floor is not in force: {shown}, not {outcome.target}. {fix}"
    return replace(outcome, findings=(*outcome.findings, finding))


def _after(outcomes: list[Outcome], error: OutOfReach) -> OutOfReach:
    done = [outcome.service for outcome in outcomes if outcome.patched_at is not None]
    if not done:
        return error
    changed = f"Before that, {', '.join(done)} had been patched; the next run does the rest."
    return OutOfReach(error.address, error.reason, error.fix, changed)
