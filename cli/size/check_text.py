"""A plan against what was recorded: tables for a terminal, plain data for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

import click
from whenever import Instant

from capacity.recordings.comparison import Comparison
from capacity.recordings.histogram import Between
from capacity.recordings.planned import Answer, Span
from capacity.recordings.promise import Kept
from capacity.recordings.recording import Window
from capacity.replicas import decimal_text
from capacity.shown import shown
from capacity.sweeps.objective import Share
from cli.output import table, wrapped
from cli.size.section import span
from infra.dialects.table import dialect_of, lacking
from stacks.spec import Platform

WORDS = {
    "offered_rps": ("offered load", "requests/s"),
    "request_duration_s": ("request duration", "s"),
    "in_flight": ("in flight", "requests"),
    "input_tokens": ("mean input", "tokens"),
    "output_tokens": ("mean output", "tokens"),
    "in_flight_per_replica": ("in flight per replica", "requests"),
    "replicas": ("running", "replicas"),
    "preemptions": ("preempted", "times a request"),
}
"""What was compared -> its name and its unit."""
FEW = 100
"""Means and shares of fewer requests are largely chance."""


@dataclass(frozen=True)
class Report:
    """All that is printed of one run; `found` by service."""

    stack: str
    prometheus: str
    window: Window
    tolerance_pct: Decimal
    found: Mapping[str, Comparison]
    platform: Platform


def echo(report: Report) -> None:
    """Print every service; what needs a person comes last and starts with `!`."""
    window = report.window
    times = " to ".join(Instant.from_timestamp(each).format_iso() for each in (window.begin, window.end))
    click.echo(f"Stack {report.stack}, {times}, as {report.prometheus} recorded it\n")
    for name, one in report.found.items():
        click.secho(wrapped(headline(name, one)), bold=True)
        if not one.is_empty:
            _echo(one, report)
        click.echo()
    for name, one in report.found.items():
        for text in findings(name, one, report):
            click.echo(wrapped(f"! {text}"))


def _echo(one: Comparison, report: Report) -> None:
    click.echo(f"\nAssumptions, each held to within {decimal_text(report.tolerance_pct)} %")
    rows = [
        (
            ", ".join(WORDS[each.what]),
            span(each.planned.low, each.planned.high) if each.planned else "not said",
            shown(each.seen) if each.seen is not None else "not recorded",
            f"x {shown(each.ratio)}" if each.ratio is not None else "",
            each.verdict,
            _answer(each.answer) if each.answer and each.verdict != "holds" else "",
        )
        for each in one.assumptions
    ]
    table(("", "planned", "seen", "ratio", "", "the plan with what was seen"), rows)
    click.echo(f"\nSLO: {decimal_text(one.promise.required_pct)} % of the requests within every limit")
    kept: list[tuple[str, ...]] = [
        (
            each.latency,
            f"{_s(each.limit_s)} s",
            _share(each.share),
            _p95(each.p95_s),
            f"{shown(each.mean_s)} s",
            each.verdict,
        )
        for each in one.promise.kept
    ]
    kept.append(("all limits", "", _share(one.promise.share), "", "", one.promise.verdict))
    table(("latency", "limit", "within the limit", "p95", "mean", ""), kept)
    for line in remarks(one, report):
        click.echo(wrapped(line, "  "))


def headline(name: str, one: Comparison) -> str:
    """What it comes to."""
    if one.is_empty:
        return f"{name}: nothing to compare the plan with"
    moved = ", ".join(WORDS[each.what][0] for each in one.moved)
    slo = {"holds": "the SLO was kept", "fails": "the SLO was not kept", "unknown": "the SLO cannot be told"}
    plan = f"moved: {moved}" if moved else "the plan holds"
    return f"{name}: {plan}; {slo[one.promise.verdict]} ({shown(one.recording.requests)} requests ended)"


def findings(name: str, one: Comparison, report: Report) -> Iterator[str]:
    """What needs a person."""
    if one.is_empty:
        yield f"{name}: {_nothing(name, one, report)}"
        return
    before = span(one.planned.answer.replicas.low, one.planned.answer.replicas.high)
    for each in one.moved:
        planned = span(each.planned.low, each.planned.high) if each.planned else "none"
        ratio = f" (x {shown(each.ratio)})" if each.ratio is not None else ""
        answer = f": {_answer(each.answer)} instead of {before}" if each.answer else ""
        if each.answer == one.planned.answer:
            answer = ", which moves no number that the plan has"
        what, unit = WORDS[each.what]
        yield f"{name}: {what}: planned {planned} {unit}, seen {shown(each.seen)}{ratio}{answer}"
    if one.together:
        yield f"{name}: with all that moved: {_answer(one.together)} instead of {before}"
    if one.promise.verdict == "fails":
        high = _pct(one.promise.share.high)
        broken = [f"{each.latency} p95 {_p95(each.p95_s)}" for each in one.promise.kept if each.verdict == "fails"]
        beside = f"; {', '.join(broken)}" if broken else ""
        asked = decimal_text(one.promise.required_pct)
        yield f"{name}: SLO not kept: at most {high} % of the requests within every limit, {asked} % asked{beside}"


def _nothing(name: str, one: Comparison, report: Report) -> str:
    service = report.platform.services[name]
    metrics = dialect_of(service.engine.kind).metrics
    if one.recording.in_flight:
        held = max(one.recording.in_flight.values())
        stalled = f", while up to {shown(held)} were in flight: do the engines answer?" if held else ""
        return f"no request ended in this window{stalled or ', and none was in flight'}"
    labels = metrics.labels(report.platform.namespace, service.model.name)
    return (
        f"{report.prometheus} has no series {metrics.running}{{{labels}}} in this window: are the engines scraped, by "
        "this server and with these labels, and did they run?"
    )


def remarks(one: Comparison, report: Report) -> Iterator[str]:
    """How far what was seen can be trusted, and what it leaves out."""
    busy_s = report.window.busy_s
    yield (
        f"offered is what reached the engines in the busiest {busy_s} s (ended, refused, and growth of what is in "
        "flight); what a gateway answered, held back or turned away is not in it"
    )
    yield "latencies run from a request's arrival at its engine; waiting in front of it is not in them"
    peak = one.peak
    if peak and peak.is_queueing:
        rates = f"{shown(peak.arrived_rps)} requests/s arrived and {shown(peak.ended_rps)} ended"
        yield f"{rates}: what ends hides what is asked for, and durations are only of what ended"
    if one.recording.requests < FEW:
        yield f"only {shown(one.recording.requests)} requests ended: means and shares of so few are largely chance"
    if len(one.planned.requests) > 1 or len(one.planned.requests[0].workload.profile.classes) > 1:
        yield "all requests and classes of the service together: an engine does not know whose a request is"
    if one.recording.not_served:
        yield f"{_pct(one.recording.not_served)} % of the requests failed or were refused; they kept no limit"
    for each in one.promise.too_coarse:
        yield _too_coarse(each, one)
    for latency in one.promise.missing:
        yield (
            f"{latency}: a limit is asked, and no buckets of it were recorded; a scrape that keeps native histograms "
            "alone has none"
        )


def _too_coarse(kept: Kept, one: Comparison) -> str:
    low, high = kept.around or (Fraction(0), None)
    engine = one.planned.requests[0].service.engine
    flag = dialect_of(engine.kind).metrics.bounds_flag
    brought = lacking(engine, flag)
    since = f", from {engine.kind} {brought} on" if brought else ""
    beside = f"{_s(low)} and {_s(high)} s" if high is not None else f"{_s(low)} s and nothing above"
    return (
        f"{kept.latency}: the limit of {_s(kept.limit_s)} s is no bound of the engine's buckets, which have {beside}: "
        f"the share within it is a range; engine.args.{flag} can make it one{since}"
    )


def _answer(answer: Answer) -> str:
    held = f"{_tenths(answer.in_flight)} in flight, " if answer.in_flight else ""
    return f"{held}{span(answer.replicas.low, answer.replicas.high)} replicas"


def _tenths(held: Span) -> str:
    return span(*(Fraction(round(each * 10), 10) for each in (held.low, held.high)))


def _share(share: Share) -> str:
    low, high = (_pct(each) for each in (share.low, share.high))
    return f"{low} %" if share.low == share.high else f"{low} to {high} %"


def _p95(found: Between) -> str:
    if found.high is None:
        return f"above {_s(found.low)} s"
    return f"{_s(found.low)} to {_s(found.high)} s"


def _s(seconds: Fraction) -> str:
    return decimal_text(seconds)


def _pct(share: Fraction) -> str:
    return decimal_text(Fraction(round(share * 10_000), 100))
