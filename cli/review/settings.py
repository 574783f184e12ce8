"""What a review says of the settings in a stack's files: one table, as Markdown. Nothing here decides anything."""

from __future__ import annotations

from collections.abc import Sequence

from infra.review.fields import FieldChange
from infra.review.markdown import Section, code
from infra.review.redaction import shown_setting

COLUMNS = ("Setting", "Before", "After")


def section(changes: Sequence[FieldChange]) -> Section:
    """The settings' part of a review."""
    counts = f"{len(changes)} setting{'s' if len(changes) > 1 else ''}" if changes else ""
    return Section("settings", counts=counts, columns=COLUMNS, rows=tuple(map(_row, changes)))


def _row(change: FieldChange) -> str:
    before, after = shown_setting(change)
    return f"| {code(change.path)} | {code(before)} | {code(after)} |"
