"""A plan as it is told, whatever tells it: terminal, page or program."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from whenever import Instant

from cli.prescale import lead_time_text, plan_text, shortage_text
from cli.prescale.plan_rows import plan_rows
from cli.prescale.text import both
from prescale.windows.shortage import Shortage, shortages
from prescale.windows.window import Timetable
from stacks.loader import Stack

if TYPE_CHECKING:
    from prescale.on_time.planning import Plan

COLUMNS = ("event", "service", "state", "floor", "raise at", "start", "end")


@dataclass(frozen=True)
class Answer:
    """The windows of `stack` at `now`, and where floors do not fit together.

    `by` are the lead times that the cluster was asked for; None where it was not.
    """

    stack: Stack
    table: Timetable
    now: Instant
    shortages: tuple[Shortage, ...]
    by: Plan | None = None

    @property
    def is_finding(self) -> bool:
        return bool(self.shortages or plan_text.findings(self.table))

    @property
    def heading(self) -> str:
        at = both(self.now, self.stack.calendar.timezone)
        return f"Stack {self.stack.name}, calendar {self.table.calendar}, at {at}"

    @property
    def rows(self) -> tuple[list[list[str]], list[str]]:
        """Rows under `COLUMNS`, then lines on what is not shown."""
        return plan_rows(self.table, self.now)

    @property
    def lines(self) -> list[str]:
        """The arithmetic, gaps, and what needs a person."""
        zone = self.stack.calendar.timezone
        return [
            *plan_text.plan_arithmetic(self.stack, self.table),
            *plan_text.gap_lines(self.table, self.now, zone),
            *([*lead_time_text.lines(self.by.lead_times), *self.by.notes] if self.by else [lead_time_text.NOT_ASKED]),
            *shortage_text.lines(self.shortages, zone),
            *plan_text.remarks(self.stack, self.table, self.now),
        ]

    @property
    def data(self) -> dict[str, Any]:
        planned = plan_text.plan_data(self.stack, self.table, self.now)
        if self.by:
            planned |= {"lead_times": lead_time_text.data(self.by.lead_times), "notes": list(self.by.notes)}
        return {**planned, **shortage_text.data(self.stack, self.shortages)}


def answer(stack: Stack, table: Timetable, now: Instant, by: Plan | None = None) -> Answer:
    return Answer(stack, table, now, shortages(stack, table, now), by)
