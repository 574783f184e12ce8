"""One run: read every object of the stack, decide, patch, and see that the HPAs show it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from msgspec.structs import replace
from whenever import Instant

from prescale import absence, targets
from prescale.api.objects import Conflict, Objects, Refused
from prescale.clock import Clock
from prescale.decision import Decision, decide
from prescale.observed import OBSERVE, Observed
from prescale.orders import store
from prescale.orders.order import Order, Orders
from prescale.outcome import Outcome, checked, outcome_of
from prescale.targets import Targets
from prescale.windows.window import Timetable
from stacks.reach import OutOfReach
from stacks.scaler import Scaler

# A write in between is answered by reading and deciding again; each time somebody else has won.
ATTEMPTS = 8
# KEDA takes a change over within a second or two; the HPA shows it at once.
IN_FORCE_WITHIN_S = 10.0
POLL_S = 0.25


@dataclass(frozen=True)
class Run:
    """The surroundings of one run, over `services` or, by hand, over some of them.

    `adopted` are those that others built. For dry runs only, `at` plays another time, `proposed` are orders as if they
    had been said, and `taken_back` names those as if they had not. `by_hand` and `lets_a_person_go` are `decide`'s.
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
    adopted: Mapping[str, Scaler] = field(default_factory=dict)

    def targets(self) -> Targets:
        """The objects whose floors are ours."""
        return targets.there(self.objects, self.stack, targets.kinds_of(self.services, self.adopted))

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
    found = run.targets()
    orders = run.orders()
    for observed in found.observed:
        if run.by_hand and observed.service not in run.services:
            continue
        try:
            outcomes.append(_settle(run, observed, orders, found.minimums))
        except OutOfReach as error:
            raise _after(outcomes, error) from None
    seen = {observed.service for observed in found.observed}
    outcomes += _without_object(run, seen, orders, has_keda=found.has_keda)
    if run.dry_run or not any(outcome.hpa_name for outcome in outcomes):
        return tuple(outcomes)
    try:
        return _verify(run, outcomes, found.minimums)
    except OutOfReach as error:
        raise _after(outcomes, error) from None


def _settle(run: Run, observed: Observed, orders: Orders, minimums: Mapping[str, int] | None) -> Outcome:
    """Decide and patch until nobody writes in between."""
    for _ in range(ATTEMPTS):
        decision = run.decide(observed, orders)
        in_force = orders.in_force(run.clock(), observed.service)
        outcome = outcome_of(run.table, observed, decision, in_force, minimums)
        if run.dry_run or decision.patch is None:
            return outcome
        try:
            run.objects.patch(observed.kind, observed.name, decision.patch)
        except Refused as error:
            fix = f"Mend the {observed.fields.short}, or give the user a Role that may patch it, then run sync again."
            reason = f"the patch was refused: {error}. {fix}"
            return replace(outcome, patch=None, hpa_name=None, findings=(*outcome.findings, reason))
        except Conflict:
            latest = run.objects.target(observed.kind, observed.name)
            if latest is None:
                return replace(outcome, patch=None, hpa_name=None, notes=("it was deleted meanwhile",))
            observed, orders = OBSERVE[observed.kind](latest), run.orders()
        else:
            return replace(outcome, patched_at=time.monotonic())
    reason = f"somebody else wrote it {ATTEMPTS} times while we tried. Find out who, then run sync again."
    return Outcome(observed.service, observed.live, None, findings=(reason,))


def _without_object(run: Run, seen: set[str], orders: Orders, *, has_keda: bool) -> list[Outcome]:
    outcomes = []
    for service in run.services:
        if service in seen:
            continue
        adopted, are_others = run.adopted.get(service), bool(seen)
        text = absence.of(run.stack, run.objects.where, adopted, are_others=are_others, has_keda=has_keda)
        if not seen or not has_keda:
            # Also without an event: who finds it out at the raise has no time left to build it.
            outcomes.append(Outcome(service, None, None, findings=(text,)))
            continue
        clock = run.clock()
        windows = (window for window in run.table.of(service) if window.active(clock.now))
        active = [window for window in windows if not orders.cancel(window.event, service, clock)]
        if active:
            outcomes.append(Outcome(service, None, None, findings=(f"{active[0].event}: {text}",)))
        else:
            outcomes.append(Outcome(service, None, None, notes=(text,)))
    return outcomes


def _verify(run: Run, outcomes: list[Outcome], shown: Mapping[str, int] | None) -> tuple[Outcome, ...]:
    """Look at the HPAs until all follow or the time is up.

    Also where this run patched nothing: another one, at work or killed, may have patched a moment ago.

    Args:
        shown: what they showed when the objects were read, where they were listed; it does where nothing was patched.
    """
    in_force_at: dict[str, float] = {}
    deadline = time.monotonic() + IN_FORCE_WITHIN_S
    minimums = shown if not any(outcome.patched_at for outcome in outcomes) else None
    while True:
        minimums = targets.minimums_of(run.objects.hpas()) if minimums is None else minimums
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
            return tuple(checked(outcome, minimums, in_force_at) for outcome in outcomes)
        time.sleep(POLL_S)
        minimums = None


def _after(outcomes: list[Outcome], error: OutOfReach) -> OutOfReach:
    done = [outcome.service for outcome in outcomes if outcome.patched_at is not None]
    if not done:
        return error
    changed = f"Before that, {', '.join(done)} had been patched; the next run does the rest."
    return OutOfReach(error.address, error.reason, error.fix, changed)
