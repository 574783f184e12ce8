"""What `warmline bench read` prints: lines for people. Nothing here decides anything."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from capacity.shown import shown
from capacity.sweeps.curve import Curve, Judged, Step
from capacity.sweeps.derived import in_flight, is_all_failed
from capacity.sweeps.goodput import Goodput, Spread
from capacity.sweeps.knee import Knee
from capacity.sweeps.objective import Attainment, Objective, Verdict
from capacity.sweeps.operating import OF_THE_KNEE_RANGE, OperatingPoint, Reading, ReplicaCapacity
from capacity.sweeps.sweep import Latency, Point
from cli.bench.picture import NAMES, SETTING, UNITS, is_evidence

COLUMNS = (
    "asked",
    "sent/s",
    "done/s",
    "in\nflight",
    "TTFT ms\np50/95/99",
    "TPOT ms\np50/95/99",
    "tokens/s",
    "kept it",
    "verdict",
)
"""Tokens are those put out."""
_LADDERS = (4, 5)
_UNKNOWN = "-"
_VERDICTS: dict[Verdict, str] = {"holds": "holds", "fails": "fails", "unknown": "unknown"}


def rows(reading: Reading) -> list[list[str]]:
    """One row for each point; what its file does not say is a dash."""
    return [_row(run, reading) for run in reading.runs]


def table_of(reading: Reading, width: int) -> list[list[str]]:
    """The head and the rows for so many columns: percentiles below each other, where they do not fit beside."""
    table = [list(COLUMNS), *rows(reading)]
    cells = [[line for cell in column for line in cell.split("\n")] for column in zip(*table, strict=True)]
    if sum(max(map(len, lines)) for lines in cells) + 2 * (len(COLUMNS) - 1) <= width:
        return table
    return [[cell.replace("/", "\n") if at in _LADDERS else cell for at, cell in enumerate(row)] for row in table]


def _row(run: Judged, reading: Reading) -> list[str]:
    point, held = run.point, in_flight(run.point)
    return [
        _asked(point),
        _number(point.achieved_rps),
        _number(point.throughput_rps),
        shown(held.value) if held else _UNKNOWN,
        _ladder(point.ttft),
        _ladder(point.tpot),
        _number(point.output_tokens_per_s),
        _share(run.attainment) if run.attainment else _UNKNOWN,
        _verdict(run, reading),
    ]


def place(run: Judged, reading: Reading) -> str:
    """Where the run was read, as seen from the sweep's folder."""
    return str(run.point.origin).removeprefix(f"{reading.sweep.name}/")


def _number(value: float | None) -> str:
    return _UNKNOWN if value is None else shown(value)


def _asked(point: Point) -> str:
    """What the client was told: a rate, or how many to hold."""
    if point.requested_rps is not None:
        return f"{shown(point.requested_rps)}/s"
    if point.concurrency_limit is not None:
        return f"{shown(point.concurrency_limit)} held"
    return {"burst": "all at once", "replay": "a trace"}.get(point.arrivals or "", _UNKNOWN)


def _ladder(latency: Latency | None) -> str:
    if latency is None:
        return _UNKNOWN
    values = [latency.percentiles_s.get(percentile) for percentile in (50.0, 95.0, 99.0)]
    return "/".join("?" if value is None else _milliseconds(value) for value in values)


def _milliseconds(value_s: float) -> str:
    """Three digits, or all of the whole part."""
    return f"{1000 * value_s:.0f}" if value_s >= 0.1 else f"{1000 * value_s:.3g}"


def _share(attainment: Attainment) -> str:
    low, high = 100 * attainment.share.low, 100 * attainment.share.high
    return f"{shown(low)} %" if low == high else f"{shown(low)}-{shown(high)} %"


def _verdict(run: Judged, reading: Reading) -> str:
    if is_evidence(run, reading):
        return _VERDICTS[run.attainment.verdict] if run.attainment else "evidence"
    if is_all_failed(run.point):
        return "failed here"
    return _VERDICTS["fails"] if run.breaks else "no evidence"


def remark_lines(reading: Reading) -> Iterator[str]:
    """Each remark once, with the points that it is about."""
    yield from (f"! refused: {line}" for line in reading.refused)
    yield from (f"! {line}" for line in reading.remarks)
    about: dict[str, list[Judged]] = {}
    for run in reading.runs:
        for remark in run.remarks:
            about.setdefault(remark.text, []).append(run)
    shared = {text: runs for text, runs in about.items() if len(runs) > 1}
    for text, runs in shared.items():
        whose = "every point" if len(runs) == len(reading.runs) else ", ".join(_asked(run.point) for run in runs)
        yield f"! {whose}: {text}"
    for run in reading.runs:
        own = [remark.text for remark in run.remarks if remark.text not in shared]
        if own:
            yield f"! {_asked(run.point)} ({place(run, reading)}): {'; '.join(own)}"


def promise(objective: Objective | None) -> str:
    """The objective in one sentence."""
    if objective is None:
        return "No objective was given: no goodput and no target (--ttft-p95-ms, or -s STACK --service NAME)."
    limits = ", ".join(f"{NAMES[each.latency]} p95 <= {shown(1000 * each.limit_s)} ms" for each in objective.limits)
    return f"Objective: {limits}; of all requests sent, {shown(objective.attainment_pct)} % keep all of it at once."


def conclusions(reading: Reading) -> Iterator[str]:
    """Knee, goodput, spread, and the replica's number."""
    unit = UNITS[reading.curve.axis]
    if not reading.curve.steps:
        yield "Nothing is concluded: no point is evidence."
        if broken := reading.curve.broken:
            yield f"Requests failed at {shown(broken[0])} {unit}: a replica carries less. Measure lower loads."
        return
    yield _last(reading.curve.steps[-1], reading)
    if reading.curve.axis == "in_flight":
        yield "Closed loops only: they tell what a replica may have in flight, not the rate that it sustains."
    yield _knee(reading.knee, reading.curve, unit)
    for spread in reading.spreads:
        yield _spread(spread, unit)
    if reading.goodput:
        yield from _goodput(reading.goodput, unit)
    if reading.capacity:
        yield from _capacity(reading.capacity, reading)


def _last(step: Step, reading: Reading) -> str:
    files = ", ".join(place(run, reading) for run in step.runs)
    setting, unit = SETTING[reading.curve.axis], UNITS[reading.curve.axis]
    return f"Last {setting} point: {shown(step.load)} {unit} ({files})"


def _knee(knee: Knee | None, curve: Curve, unit: str) -> str:
    if knee is None:
        below = f" below the {shown(curve.broken[0])} at which requests failed" if curve.broken else ""
        return f"Knee: cannot be told; it takes two loads with a response time{below}"
    of = {"ttft": "time to first token", "e2e": "time to the end of an answer"}[knee.response]
    why = f"the greatest load for each second of {of}"
    if knee.is_at_or_above:
        why_below = "at which requests failed" if knee.below in curve.broken else "that the client could send"
        below = f", below the {shown(knee.below)} {why_below}" if knee.below else ""
        return f"Knee: at or above {shown(knee.load)} {unit}{below} ({why}, still rising at the last point)"
    if knee.is_at_or_below:
        return f"Knee: at or below {shown(knee.load)} {unit} ({why}, falling from the first point on)"
    return f"Knee: {shown(knee.load)} {unit}, between {shown(knee.above)} and {shown(knee.below)} ({why})"


def _spread(spread: Spread, unit: str) -> str:
    ranges = [
        f"{NAMES[name]} p95 {shown(1000 * least)} to {shown(1000 * greatest)} ms"
        for name, (least, greatest) in spread.p95_s.items()
    ]
    held = f"{spread.held} of them shown to hold"
    return f"Repeats at {shown(spread.load)} {unit}: {spread.runs} runs, {', '.join([*ranges, held])}"


def _goodput(goodput: Goodput, unit: str) -> Iterator[str]:
    if goodput.load is None:
        fails = f"; it fails at {shown(goodput.fails_at)} {unit}" if goodput.fails_at is not None else ""
        yield f"Goodput: none; no load is shown to keep the objective{fails}"
        yield f"  ! no replica's number follows from this sweep: {_no_goodput(goodput)}"
    elif goodput.fails_at is None:
        yield f"Goodput: at least {shown(goodput.load)} {unit}; nothing measured above it is shown to fail"
    else:
        crossing = goodput.crossing
        between = f"; a straight line crosses at {shown(crossing)}, which was not measured" if crossing else ""
        yield f"Goodput: {shown(goodput.load)} {unit}; it fails at {shown(goodput.fails_at)}{between}"
    if goodput.again:
        yield f"  ! it holds again at {_loads(goodput.again)}, above a load that fails: not counted, measure again"
    if above := [load for load in goodput.unknown if goodput.load is None or load > goodput.load]:
        yield (
            f"  ! it cannot be told at {_loads(above)}: measure more requests, and save single ones (vLLM "
            "--save-detailed) or percentiles nearer to the share (p99.9)"
        )


def _no_goodput(goodput: Goodput) -> str:
    """What to do where no load is shown to hold."""
    if goodput.fails_at is None:
        return "measure so that it can be told"
    lower = f"measure loads below {shown(goodput.fails_at)}"
    return f"{lower}; where none holds, the objective is not for this configuration: change one of them"


def _loads(loads: Iterable[Fraction]) -> str:
    return ", ".join(map(shown, loads))


def _capacity(capacity: ReplicaCapacity, reading: Reading) -> Iterator[str]:
    yield f"Sustainable per replica: {_operating(capacity.sustainable)}"
    yield f"Target per replica: {_operating(capacity.target)}"
    target, unit = capacity.target, UNITS[capacity.axis]
    files = ", ".join(place(run, reading) for run in target.evidence)
    loads = [step.load for step in reading.curve.steps if any(run in step.runs for run in target.evidence)]
    how = "measured" if not target.is_interpolated else "in proportion to" if len(loads) == 1 else "between"
    at = "" if not target.is_interpolated else f" {' and '.join(map(shown, loads))} {unit}"
    yield f"  because: {capacity.why}; {how}{at} ({files})"
    if reading.knee:
        least, most = (shown(share * reading.knee.load) for share in OF_THE_KNEE_RANGE)
        yield f"  70 to 80 % of the knee: {least} to {most} {UNITS[capacity.axis]}"


def _operating(point: OperatingPoint) -> str:
    amounts = (
        (point.rps, "requests/s"),
        (point.in_flight, "in flight"),
        (point.output_tokens_per_s, "output tokens/s"),
    )
    return ", ".join(f"{shown(value)} {unit}" for value, unit in amounts if value is not None)
