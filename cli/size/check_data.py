"""A plan against what was recorded, as plain data: numbers as numbers, and None for what is not known."""

from __future__ import annotations

from typing import Any

from whenever import Instant

from capacity.recordings.comparison import Compared, Comparison
from capacity.recordings.histogram import Between
from capacity.recordings.planned import Answer, Span
from capacity.recordings.promise import Promise
from capacity.recordings.recording import Peak
from cli.output import number
from cli.size.check_text import Report, findings, remarks

Number = int | float


def data(report: Report) -> dict[str, Any]:
    """Everything that was compared, by service."""
    window = report.window
    return {
        "stack": report.stack,
        "prometheus": report.prometheus,
        "from": Instant.from_timestamp(window.begin).format_iso(),
        "to": Instant.from_timestamp(window.end).format_iso(),
        "busiest_s": window.busy_s,
        "tolerance_pct": number(report.tolerance_pct),
        "services": {name: _service(name, one, report) for name, one in report.found.items()},
    }


def _service(name: str, one: Comparison, report: Report) -> dict[str, Any]:
    recording = one.recording
    return {
        "requests": [request.name for request in one.planned.requests],
        "recorded": not one.is_empty,
        "ended": {how: number(count) for how, count in recording.ends.items()},
        "refused": number(recording.refusals),
        "peak": None if one.peak is None else _peak(one.peak),
        "planned": _answer(one.planned.answer),
        "assumptions": {} if one.is_empty else {each.what: _compared(each) for each in one.assumptions},
        "with_all_that_moved": _answer(one.together),
        "slo": None if one.is_empty else _promise(one.promise),
        "remarks": [] if one.is_empty else list(remarks(one, report)),
        "findings": list(findings(name, one, report)),
    }


def _compared(each: Compared) -> dict[str, Any]:
    return {
        "planned": _span(each.planned),
        "seen": number(each.seen),
        "ratio": number(each.ratio),
        "verdict": each.verdict,
        "plan_with_it": _answer(each.answer),
    }


def _peak(peak: Peak) -> dict[str, Any]:
    return {
        "to": Instant.from_timestamp(peak.end).format_iso(),
        "offered_rps": number(peak.arrived_rps),
        "ended_rps": number(peak.ended_rps),
        "in_flight": number(peak.in_flight),
        "replicas": number(peak.replicas),
    }


def _promise(promise: Promise) -> dict[str, Any]:
    return {
        "verdict": promise.verdict,
        "required_pct": number(promise.required_pct),
        "share": {"low": number(promise.share.low), "high": number(promise.share.high)},
        "not_recorded": list(promise.missing),
        "limits": {
            kept.latency: {
                "limit_s": number(kept.limit_s),
                "share": {"low": number(kept.share.low), "high": number(kept.share.high)},
                "p95_s": _between(kept.p95_s),
                "mean_s": number(kept.mean_s),
                "verdict": kept.verdict,
            }
            for kept in promise.kept
        },
    }


def _between(found: Between) -> dict[str, Number | None]:
    return {"low": number(found.low), "high": number(found.high), "histogram_quantile": number(found.likely)}


def _answer(answer: Answer | None) -> dict[str, Any] | None:
    return None if answer is None else {"in_flight": _span(answer.in_flight), "replicas": _span(answer.replicas)}


def _span(span: Span | None) -> dict[str, Number | None] | None:
    return None if span is None else {"low": number(span.low), "high": number(span.high)}
