"""How `warmline prescale watch` tells what it sees: cells of a table on a terminal, else a line for each change."""

from __future__ import annotations

from collections.abc import Iterator

from whenever import Instant, ZonedDateTime

from prescale.clock import span
from prescale.lead_time.progress import STAGES
from prescale.watching.frame import Frame, Row

COLUMNS = ("service", "floor", "HPA", *(stage for stage in STAGES if stage != "ready"), "Ready", "answering")
TIMES = ("ready by", "T0")


def cells(row: Row) -> list[str]:
    """One row below `COLUMNS`."""
    one = row.warmth
    on_the_way = [str(row.stages.get(stage, 0)) for stage in STAGES if stage != "ready"]
    hpa = "none" if one.hpa_min is None else str(one.hpa_min)
    return [one.service, str(one.floor), hpa, *on_the_way, str(one.ready), str(one.answering)]


def times(row: Row, at: Instant, zone: str) -> list[str]:
    """One row below `TIMES`: the two moments, and how far off each is."""
    ready = ""
    if row.warmth.is_warm:
        ready = "warm"
    elif row.warmth.ready_by:
        late_s = row.warmth.late_s or 0
        late = f", {span(late_s)} late" if late_s > 0 else ""
        whose = "" if row.warmth.due is None else f"{row.warmth.due} at "
        ready = f"{whose}{clock(row.warmth.ready_by, zone)}{late}"
    return [ready, _t0(row, at, zone)]


def lines(frame: Frame, zone: str, before: Frame | None) -> list[str]:
    """A line for each row that is not as it was, with the time of the look; then what the cluster says."""
    was = {row.warmth.service: row.key for row in before.rows} if before else {}
    said: list[str] = []
    for row in frame.rows:
        if was.get(row.warmth.service) != row.key:
            said.append(f"{clock(frame.at, zone)} {_line(row, frame.at, zone)}")
            said += [f"         {note}" for note in notes(row)]
    return said


def notes(row: Row) -> list[str]:
    """What keeps a service, in the words of the status and of the cluster."""
    missing = () if row.warmth.is_warm else (f"missing: {'; '.join(row.warmth.missing)}",)
    return [*missing, *row.why]


def _line(row: Row, at: Instant, zone: str) -> str:
    one = row.warmth
    state = "warm" if one.is_warm else "NOT warm"
    counted = (f"{row.stages[stage]} {stage}" for stage in STAGES if stage != "ready" and row.stages.get(stage))
    pods = ", ".join([*counted, f"{one.ready} Ready", f"{one.answering} answering"])
    hpa = "none" if one.hpa_min is None else one.hpa_min
    begin = f"{one.service}: {state}; floor {one.floor} ({one.event or 'the baseline'}), HPA {hpa}; {pods}"
    return "; ".join([begin, *_times_in_words(row, at, zone)])


def _times_in_words(row: Row, at: Instant, zone: str) -> Iterator[str]:
    ready, t0 = times(row, at, zone)
    if ready and not row.warmth.is_warm:
        yield f"ready by {ready}"
    if t0:
        yield f"T0 {t0}"


def _t0(row: Row, at: Instant, zone: str) -> str:
    if row.t0 is None:
        return ""
    if row.raise_at is not None:
        day = (
            "" if row.raise_at.to_tz(zone).date() == at.to_tz(zone).date() else f" on {row.raise_at.to_tz(zone).date()}"
        )
        return f"{clock(row.t0, zone)}, raised {clock(row.raise_at, zone)}{day}"
    off_s = _seconds(at, row.t0.to_instant())
    return f"{clock(row.t0, zone)}, {f'in {span(off_s)}' if off_s > 0 else f'{span(-off_s)} ago'}"


def clock(moment: Instant | ZonedDateTime, zone: str) -> str:
    """`20:00:00`, local."""
    local = (moment if isinstance(moment, Instant) else moment.to_instant()).to_tz(zone)
    return f"{local.hour:02}:{local.minute:02}:{local.second:02}"


def _seconds(begin: Instant, end: Instant) -> float:
    return (end - begin).total("seconds")
