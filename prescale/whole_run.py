"""One run over a stack as cron starts it: the timetable to go by, the floors, and what is Ready of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whenever import Instant

from prescale.api.cluster import Cluster
from prescale.briefs.brief import Brief
from prescale.on_time import needs
from prescale.on_time.planning import plan
from prescale.outcome import Outcome
from prescale.sync import Run, sync
from prescale.windows.window import Timetable

if TYPE_CHECKING:
    from stacks.loader import Stack


@dataclass(frozen=True)
class Done:
    """What came of it, by `table`. `ready` are Ready pods by service, None where nobody had to look at them."""

    table: Timetable
    outcomes: tuple[Outcome, ...]
    notes: tuple[str, ...]
    ready: Mapping[str, int] | None = None


def run(
    cluster: Cluster,
    brief: Brief,
    load: Callable[[], Stack],
    now: Instant,
    read_clock: Callable[[], Instant],
    *,
    dry_run: bool = False,
    at: Instant | None = None,
) -> Done:
    """Make the floors of one stack true, and see whether what they ask for is Ready in time.

    Args:
        load: reads all of the stack; called where pods have to be looked at.
        now: this machine's time; `read_clock` tells it anew before each decision.
        dry_run: change nothing, and look at no pods; `at` is the time that is played.

    Raises:
        OutOfReach: the cluster did not answer.
    """
    by = plan(cluster, brief, now) if brief.depends_on_starts(now) else None
    table, services = by.table if by else brief.table, tuple(brief.services)
    outcomes = sync(Run(brief.stack, table, services, cluster, read_clock, dry_run, at, adopted=brief.adopted))
    seen_at = cluster.clock(read_clock()).best
    wanted = {} if dry_run else needs.by_service(table, outcomes, seen_at)
    if not wanted:
        return Done(table, outcomes, (*brief.notes, *(by.notes if by else ())))

    from prescale.on_time.following import follow  # with all that it stands on, which most runs do without

    by = by or plan(cluster, brief, seen_at)
    seen = follow(cluster, load(), by, outcomes, wanted=wanted, now=seen_at)
    return Done(table, seen.outcomes, (*brief.notes, *by.notes, *seen.notes), seen.ready)
