"""What the pre-scaler remembers on one object, in one annotation: what it set, for which events, until when.

Everything else is reckoned anew by every run; only what a later run could not know is kept here: events that may
vanish from the calendar, how long a person's higher value is left alone, and how many replicas were seen Ready.
"""

from __future__ import annotations

import json
from typing import Any

from msgspec import Struct
from whenever import Instant


class Unreadable(ValueError):  # noqa: N818 - it names the state of the annotation
    """The annotation's text is not a record."""


class Held(Struct, frozen=True, order=True):
    """One event's claim: `floor` replicas until `until`. Only a run from `calendar` may let go of it."""

    calendar: str
    event: str
    floor: int
    until: Instant


class Kept(Struct, frozen=True):
    """A person's higher value, left alone until `until`."""

    floor: int
    until: Instant


class Record(Struct, frozen=True):
    """The annotation's content.

    `set_to` is the minReplicaCount last written or found to be right by a run, None if a run has only looked on;
    `activated` says that force-activation is ours to remove. `warm` is how many replicas these events were seen to have
    Ready: that they came in time is known then, and no later run looks at the pods again.
    """

    set_to: int | None = None
    events: tuple[Held, ...] = ()
    kept: Kept | None = None
    activated: bool = False
    warm: int = 0

    def text(self) -> str:
        """Compact JSON, the same text for the same record."""
        data: dict[str, Any] = {}
        if self.set_to is not None:
            data["set"] = self.set_to
        if self.events:
            data["events"] = [
                {"event": held.event, "floor": held.floor, "until": held.until.format_iso(), "calendar": held.calendar}
                for held in self.events
            ]
        if self.kept:
            data["kept"] = {"floor": self.kept.floor, "until": self.kept.until.format_iso()}
        if self.activated:
            data["activated"] = True
        if self.warm:
            data["warm"] = self.warm
        return json.dumps(data, separators=(",", ":"))


def parse(text: str) -> Record:
    """Read an annotation's text.

    Raises:
        Unreadable: it is not JSON, or not of this shape. Nothing may be lowered on its word.
    """
    try:
        data = json.loads(text)
        events = tuple(sorted(_held(item) for item in data.get("events", [])))
        kept = data.get("kept")
        return Record(
            set_to=_count(data["set"]) if "set" in data else None,
            events=events,
            kept=Kept(_count(kept["floor"]), _instant(kept["until"])) if kept else None,
            activated=data.get("activated") is True,
            warm=_count(data.get("warm", 0)),
        )
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise Unreadable(str(error)) from None


def _held(item: dict[str, Any]) -> Held:
    return Held(_text(item["calendar"]), _text(item["event"]), _count(item["floor"]), _instant(item["until"]))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not text")
    return value


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise TypeError(f"{value!r} is not a number of replicas")
    return value


def _instant(value: Any) -> Instant:
    return Instant.parse_iso(_text(value))
