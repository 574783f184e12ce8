"""One start of one replica, from its pod's creation to its first Ready, in phases; and the line it is kept as."""

from __future__ import annotations

import re
from dataclasses import astuple, dataclass

from whenever import Instant

PHASES = ("nodes", "image", "weights", "engine start", "readiness gates")
"""In the order of a start, named as the steps of an event are."""

UNKNOWN = "?"
_LINE = re.compile(r"([0-9a-f]{8}) (\S+) (\S+) (\d{1,8})" + rf" (\d{{1,8}}|{re.escape(UNKNOWN)})" * len(PHASES))


class Unreadable(ValueError):  # noqa: N818 - it names the state of the line
    """The line is no start."""


@dataclass(frozen=True)
class Phases:
    """Seconds of each phase; None is unknown and never 0.

    node_s: until the scheduler had a node for it, made or free. image_s: on the node, no container at work: sandbox,
    volumes, the pull of every image. weights_s: in init containers. engine_start_s: from the engine's process until all
    containers are ready. ready_s: from there to Ready, which only readiness gates (a load balancer's, say) hold back.
    """

    node_s: int | None = None
    image_s: int | None = None
    weights_s: int | None = None
    engine_start_s: int | None = None
    ready_s: int | None = None

    @property
    def in_order(self) -> tuple[int | None, ...]:
        """As `PHASES` names them."""
        return astuple(self)


@dataclass(frozen=True)
class Start:
    """`kind` is `prescale.lead_time.kind.kind_of` the service; `pod` and `created` tell it from every other start."""

    kind: str
    created: Instant
    pod: str
    total_s: int
    phases: Phases

    def line(self) -> str:
        """One line, the same for the same start: `1f2e3d4c 2027-10-29T14:00:03Z x2x4z 305 1 2 120 182 0`."""
        seconds = (UNKNOWN if one is None else str(one) for one in self.phases.in_order)
        return " ".join([self.kind, self.created.format_iso(), self.pod, str(self.total_s), *seconds])

    @property
    def remaining_s(self) -> tuple[int, ...]:
        """Seconds to Ready from the begin of each phase on.

        Where the begin is not known, from the last one before it that is: never less than it took.
        """
        known = [self.total_s]
        for index in range(1, len(PHASES)):
            before, after = self.phases.in_order[:index], self.phases.in_order[index:]
            left_s = known[-1]
            if None not in before:
                left_s = self.total_s - sum(one for one in before if one is not None)
            elif None not in after:
                left_s = sum(one for one in after if one is not None)
            known.append(max(0, min(left_s, known[-1])))
        return tuple(known)


def parse(line: str) -> Start:
    """Read a line.

    Raises:
        Unreadable: it is not of this form.
    """
    found = _LINE.fullmatch(line)
    if found is None:
        raise Unreadable(line[:80])
    kind, created, pod, total, *phases = found.groups()
    seconds = [None if one == UNKNOWN else int(one) for one in phases]
    try:
        return Start(kind, Instant.parse_iso(created), pod, int(total), Phases(*seconds))
    except ValueError as error:
        raise Unreadable(str(error)) from None
