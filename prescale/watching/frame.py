"""One look at a stack on its way to warm: a row for each service. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from whenever import Instant, ZonedDateTime

from prescale.lead_time.progress import Stage
from prescale.pod_states import PodState
from prescale.warmth import Warmth
from prescale.windows.window import Timetable


@dataclass(frozen=True)
class Row:
    """One service. `stages` counts its pods; `t0` is the start of the event that asks for the floor, else of the next.

    `raise_at` is when that next one is raised, None of one that is. `why` is what the cluster says of pods that do not
    come on, each reason once.
    """

    warmth: Warmth
    stages: Mapping[Stage, int]
    t0: ZonedDateTime | None
    raise_at: Instant | None
    why: tuple[str, ...]

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two looks different to a person: not the time that went by."""
        one = self.warmth
        seen = (one.event, one.floor, one.hpa_min, one.ready, one.answering, one.missing)
        return (one.service, *seen, *sorted(self.stages.items()), self.why)


@dataclass(frozen=True)
class Frame:
    """All services at `at`."""

    at: Instant
    rows: tuple[Row, ...]

    @property
    def is_warm(self) -> bool:
        return all(row.warmth.is_warm for row in self.rows)

    def missed(self, since: Instant) -> tuple[str, ...]:
        """The services that are not warm although their event began, after `since` and by now."""
        return tuple(
            row.warmth.service
            for row in self.rows
            if not row.warmth.is_warm and row.warmth.t0 and since < row.warmth.t0.to_instant() <= self.at
        )


def frame(warmths: Sequence[Warmth], pods: Sequence[PodState], table: Timetable, at: Instant) -> Frame:
    """Bring together what one look saw."""
    return Frame(
        at, tuple(_row(one, [pod for pod in pods if pod.service == one.service], table, at) for one in warmths)
    )


def _row(warmth: Warmth, pods: Sequence[PodState], table: Timetable, at: Instant) -> Row:
    planned = [window for window in table.of(warmth.service) if window.state(at) == "planned"]
    following = min(planned, key=lambda window: window.raise_at, default=None) if warmth.t0 is None else None
    return Row(
        warmth=warmth,
        stages=Counter(pod.progress.stage for pod in pods),
        t0=following.start if following else warmth.t0,
        raise_at=following.raise_at if following else None,
        why=tuple(sorted({pod.progress.why for pod in pods if pod.progress.why and not pod.is_ready})),
    )
