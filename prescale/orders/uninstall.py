"""Leave no trace: every object at its baseline, no annotation of ours but the builder's, no orders."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from prescale.adoption.marks import taken_off
from prescale.api.objects import Refused
from prescale.decision import Decision, baseline_of, patch_to, record_of
from prescale.observed import Observed
from prescale.orders import store
from prescale.orders.giving import Answer
from prescale.orders.order import SOURCE, Orders
from prescale.sync import Run, sync
from stacks import ownership
from stacks.reach import OutOfReach

STILL_RUNNING = "a runner that still runs raises again what the calendar asks for: remove it"


@dataclass(frozen=True)
class Uninstall(Run):
    """A run that asks neither calendar nor clock nor orders."""

    def decide(self, observed: Observed, orders: Orders) -> Decision:
        """The way back to the baseline."""
        return at_baseline(observed)


def at_baseline(observed: Observed) -> Decision:
    """Take one object to its baseline, and our annotations off it: what was adopted is adopted no more.

    One without a readable baseline is left alone.
    """
    baseline, findings = baseline_of(observed)
    if baseline is None:
        return Decision(observed.live, observed.live, (), None, findings=tuple(findings))
    if baseline > observed.max_replicas:
        above = f"its baseline of {baseline} is above the live ceiling of {observed.max_replicas}: it was left alone"
        return Decision(observed.live, observed.live, (), None, findings=(above,))
    record, _ = record_of(observed)
    if record is None and observed.is_activated:
        unknown = f"who set {ownership.FORCE_ACTIVATION} is not known, since the record could not be read"
        findings.append(f"{unknown}: it was left. Remove it if nobody needs it.")
    activation = "remove" if record and record.activated else None
    patch = patch_to(observed, None, baseline, activation)
    if not observed.is_adopted:
        return Decision(baseline, baseline, (), patch, findings=tuple(findings))
    note = f"{observed.name} is adopted no more; `warmline prescale adopt` takes it again"
    return Decision(baseline, baseline, (), taken_off(observed, patch), (note,), tuple(findings))


def uninstall(run: Uninstall, even_during: Collection[str]) -> Answer:
    """Let go of everything. Refused while events are active that `even_during` does not name.

    The orders go first: no runner raises for them again while the objects are taken down.
    """
    if unnamed := sorted(set(active_events(run)) - set(even_during)):
        fix = " ".join(f"--even-during {event}" for event in unnamed)
        active = f"{', '.join(unnamed)} {'is' if len(unnamed) == 1 else 'are'} active: nothing was let go"
        return Answer(findings=(f"{active}. To let go even so, add {fix}.",))
    if not run.dry_run:
        try:
            store.remove(run.objects, run.stack)
        except Refused as error:
            return Answer(findings=(f"the orders could not be deleted: {error}. Nothing was let go.",))
    try:
        return Answer((), sync(run), notes=(STILL_RUNNING,))
    except OutOfReach as error:
        if run.dry_run:
            raise
        changed = "The orders had been deleted before, and perhaps some objects patched: say it again."
        raise OutOfReach(error.address, error.reason, error.fix, changed) from None


def active_events(run: Run, of: str | None = None) -> tuple[str, ...]:
    """Events that hold a floor now, of one service or of all: of the calendar, or by their record. An order is none."""
    found = run.targets().observed
    orders, clock = run.orders(), run.clock()
    active = {
        (window.event, window.service)
        for window in run.table.windows
        if any(window.active(moment) for moment in clock.moments)
    }
    for observed in found:
        record, _ = record_of(observed)
        active |= {
            (held.event, observed.service)
            for held in (record.events if record else ())
            if held.calendar != SOURCE and any(moment < held.until for moment in clock.moments)
        }
    return tuple(
        sorted(
            {event for event, service in active if of in {None, service} and not orders.cancel(event, service, clock)}
        )
    )
