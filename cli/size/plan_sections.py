"""A plan as sections of rows: the one form that the terminal, Markdown and HTML print."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from capacity.replicas import decimal_text
from capacity.sizing.allowed import open_questions, remarks
from capacity.sizing.offered import DIMENSIONS, Dimension
from capacity.sizing.plan import Plan
from capacity.sizing.reserve import Part
from cli.size.memory import memory_sections
from cli.size.section import Section, span
from stacks.workload_class import FROM_PEOPLE, WAYS, WorkloadClass

UNITS: dict[Dimension, str] = {
    "in_flight": "in flight",
    "rps": "requests/s",
    "prefill_tokens_per_s": "prefill tokens/s",
    "output_tokens_per_s": "output tokens/s",
}


def headlines(plan: Plan) -> Iterator[str]:
    """What the plan comes to, and first of all what it is worth."""
    if plan.is_refuted:
        evidence = ", ".join(sorted({one.evidence for one in plan.carries.values() if one.is_refuted}))
        yield f"no plan: the evidence ({evidence}) shows no load at which one replica keeps the SLO"
    if plan.kind != "measured":
        evidence = ", ".join(sorted({one.evidence for one in plan.carries.values() if one.kind == plan.kind}))
        yield f"rests on {plan.kind} evidence ({evidence}), which is no measurement of the target hardware"
    reserve = span(plan.fewest.reserve.running, plan.most.reserve.running)
    gpus = plan.service.gpus_per_replica
    on = f"{plan.workload.service}, {gpus} GPU{'s' if gpus > 1 else ''} each"
    if plan.is_refuted:
        yield f"if one replica carried what is typed, which nothing supports: {reserve} replicas of {on}"
    elif plan.is_preliminary:
        gaps = len(plan.assumptions)
        rests = "an assumption" if gaps == 1 else f"{gaps} assumptions"
        yield f"preliminary, {reserve} replicas of {on}; rests on {rests}, listed below"
    else:
        yield f"{reserve} replicas of {on}"


def sections(plan: Plan) -> Iterator[Section]:
    """All of them, in the order in which one follows from the other."""
    if asked := tuple(_asked(plan)):
        yield Section("Asked", ("field", "said"), asked)
    yield _load(plan)
    yield _capacity(plan)
    yield _reserve(plan)
    yield _replicas(plan)
    yield from memory_sections(plan)
    if plan.assumptions:
        rows = tuple((one.field, span(one.fewest, one.most), one.why) for one in plan.assumptions)
        yield Section("Assumptions", ("field", "assumed", "why"), rows)
    if noted := tuple(remarks(plan)):
        yield Section("Remarks", lines=noted)
    if questions := tuple((place, ", ".join(fields)) for place, fields in open_questions(plan)):
        yield Section("Not said, and without weight on the number", ("section", "fields"), questions)


def _asked(plan: Plan) -> Iterator[tuple[str, str]]:
    """What the request says beside its load, as it says it."""
    for section in ("product", "models", "slo", "reliability", "observability"):
        said = getattr(plan.workload, section).model_dump(mode="json", exclude_none=True, exclude_unset=True)
        for name, value in said.items():
            yield f"{section}.{name}", _said(value)
    if plan.workload.profile.trace is not None:
        yield "profile.trace", plan.workload.profile.trace
    if plan.workload.profile.horizon_months is not None:
        yield "profile.horizon_months", str(plan.workload.profile.horizon_months)


def _said(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_said(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return "; ".join(_said(inner) for inner in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _load(plan: Plan) -> Section:
    rows = []
    for kind, low in plan.fewest.offered.items():
        high = plan.most.offered[kind]
        cells = [
            span(low.load[name], high.load[name]) if name in low.load and name in high.load else "not said"
            for name in DIMENSIONS
        ]
        rows.append((kind, *cells))
    lines = tuple(f"{kind}: {_arithmetic(plan, kind)}" for kind in plan.fewest.offered)
    return Section("Load on the GPUs at the projected peak", ("class", *UNITS.values()), tuple(rows), lines)


# Field of a class -> how it stands in the product, `{}` being its number; those that are left out where it is 0.
_FACTORS: dict[str, str] = {
    "registered_users": "{} registered users",
    "active_users": "{} active users",
    "jobs_per_hour": "{} jobs/h",
    "rps": "{} rps",
    "in_flight": "{} in flight",
    "streams": "{} streams",
    "active_pct": "{} % active",
    "runs_per_user_hour": "{} runs/h",
    "llm_calls_per_run": "{} LLM calls",
    "retries_pct": "(1 + {} % retries)",
    "peak_to_average": "{} peak to average",
    "growth_pct": "(1 + {} % growth)",
    "exact_cache_hit_pct": "(1 - {} % from the cache)",
    "tokens_per_s_per_stream": "{} tokens/s",
    "request_duration_s": "{} s",
}
_NOTHING_AT_0 = ("retries_pct", "growth_pct", "exact_cache_hit_pct")


def _arithmetic(plan: Plan, kind: str) -> str:
    """`26.7 rps x 7.8 s = 208.26 in flight`."""
    said = plan.workload.profile.classes[kind]
    factors = []
    for field, text in _FACTORS.items():
        number = _value(plan, kind, said, field) if _counts(said, field) else ""
        if number and not (number == "0" and field in _NOTHING_AT_0):
            factors.append(text.format(number))
    low, high = plan.fewest.offered[kind], plan.most.offered[kind]
    result: Dimension = "output_tokens_per_s" if low.unit == "streams" else "in_flight"
    hourly = " / 3600" if low.unit == "rps" and said.rps is None else ""
    return f"{' x '.join(factors)}{hourly} = {span(low.load[result], high.load[result])} {UNITS[result]}"


def _counts(said: WorkloadClass, field: str) -> bool:
    """Whether a field is a factor of the class's load."""
    if field in WAYS:
        return field == said.way
    if field == "llm_calls_per_run":
        return said.way in FROM_PEOPLE
    if field == "request_duration_s":
        return said.way not in ("in_flight", "streams")
    return field in ("growth_pct", "exact_cache_hit_pct") or field in WAYS[said.way]


def _value(plan: Plan, kind: str, said: WorkloadClass, field: str) -> str:
    known = getattr(said, field)
    if known is not None:
        return decimal_text(known)
    place = f"profile.classes.{kind}.{field}"
    return next(span(one.fewest, one.most) for one in plan.assumptions if one.field == place)


def _capacity(plan: Plan) -> Section:
    rows = []
    for name in DIMENSIONS:
        for kind, low in plan.fewest.offered.items():
            high = plan.most.offered[kind]
            if name not in low.load or name not in high.load:
                continue
            each, at_worst = (end.carries[kind].load.get(name) for end in (plan.fewest, plan.most))
            load = span(low.load[name], high.load[name])
            if each is None and name == "rps":
                continue  # the requests in flight say the same, by Little's law
            if each is None or at_worst is None:
                rows.append((UNITS[name], kind, load, "not measured", "not compared", ""))
                continue
            replicas = span(low.load[name] / each, high.load[name] / at_worst)
            number = span(round(at_worst, 3), round(each, 3))  # it is not known to more digits
            typed = f"{number}, typed" if plan.carries[kind].is_refuted else number
            rows.append((UNITS[name], kind, load, typed, replicas, plan.carries[kind].evidence))
    lines = [
        f"{UNITS[name]}: {span(plan.fewest.needs[name], plan.most.needs[name])} replicas of load{_binds(plan, name)}"
        for name in DIMENSIONS
        if name in plan.fewest.needs
    ]
    lines += [f"{kind}: {one.why}" for kind, one in plan.carries.items() if one.why]
    columns = ("dimension", "class", "load", "one replica carries", "replicas of load", "evidence")
    return Section("Capacity of one replica, at the SLO", columns, tuple(rows), tuple(lines))


def _binds(plan: Plan, name: Dimension) -> str:
    ends = [end for end in (plan.fewest, plan.most) if end.binds == name]
    if len(ends) == 2:
        return " (binds)" if len(plan.fewest.needs) > 1 else ""
    return "" if not ends else f" (binds at the {'lower' if ends[0] is plan.fewest else 'upper'} end)"


def _reserve(plan: Plan) -> Section:
    low, high = plan.fewest.reserve, plan.most.reserve
    rows = [
        (part.name.replace("_", " "), _part(span(less.replicas, part.replicas), part), part.why)
        for less, part in zip(low.parts, high.parts, strict=True)
    ]
    rows.append(("running", span(low.running, high.running), "at the peak"))
    lines = []
    if len(high.parts) > 2:
        together = plan.workload.reliability.one_at_a_time
        lines.append(
            f"of {', '.join(together)} only one at a time is expected; the largest covers the others"
            if together
            else "no two reserves overlap: all of it may happen at once (reliability.one_at_a_time says otherwise)"
        )
    return Section("Reserve", ("set", "replicas", "why"), tuple(rows), tuple(lines))


def _part(number: str, part: Part) -> str:
    return f"({number}, covered)" if part.covered else number


def _replicas(plan: Plan) -> Section:
    low, high, service = plan.fewest.reserve, plan.most.reserve, plan.service
    gpus = service.gpus_per_replica
    rows = (
        ("running at the peak", span(low.running, high.running), span(low.running * gpus, high.running * gpus)),
        ("room for a rollout's surge", span(low.surge, high.surge), span(low.surge * gpus, high.surge * gpus)),
        ("ceiling (replicas.max)", str(service.replicas.max), str(service.replicas.max * gpus)),
    )
    return Section("Replicas", ("", "replicas", f"GPUs of pool {service.node_pool}"), rows)
