"""The table that `warmline prescale watch` draws on a terminal. Imports rich: only for whoever draws."""

from __future__ import annotations

from rich.console import Group
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table

from cli.prescale.watch_text import COLUMNS, TIMES, cells, clock, notes, times
from prescale.watching.frame import Frame

BAR_WIDTH = 16


def drawn(frame: Frame, zone: str) -> Group:
    """One look: a row for each service with its progress to Ready, and what keeps those that are not warm."""
    table = Table(box=None, pad_edge=False, header_style="bold", title=f"{clock(frame.at, zone)} {zone}")
    for column in (*COLUMNS, "", *TIMES):
        table.add_column(column, justify="left" if column in {"service", "", *TIMES} else "right")
    said = []
    for row in frame.rows:
        one = row.warmth
        bar = ProgressBar(total=max(one.floor, 1), completed=min(one.answering, max(one.floor, 1)), width=BAR_WIDTH)
        table.add_row(*map(escape, cells(row)), bar, *map(escape, times(row, frame.at, zone)))
        said += [f"{escape(one.service)}: {escape(note)}" for note in notes(row)]
    return Group(table, *said)
