"""Where a plan and its platform do not fit: ceilings, and promises that were not measured. And what is open.

What a pool cannot hold is `Purchase.finding` (capacity.purchase.pool): it takes nodes, not GPUs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from capacity.replicas import decimal_text
from capacity.sizing import shared
from capacity.sizing.lengths import untold
from capacity.sizing.plan import Plan
from capacity.sizing.usual import contradiction
from stacks.field_types import Spec
from stacks.workload_class import WAYS, Lengths

# Asked at the most, or at the least -> the service's own field of the same name.
STRICTER_IF_LESS = ("ttft_p95_ms", "tpot_p95_ms")
STRICTER_IF_MORE = ("attainment_pct",)

NOT_PROMISED = ("itl_p95_ms", "e2e_p95_s")
"""Asked of a service that has no such field: what is typed was measured for none of it."""


def findings(plans: Sequence[Plan], in_part: Collection[str] = ()) -> tuple[str, ...]:
    """Everything that needs a person, in the order of the plans, then what they ask of their services together.

    Args:
        in_part: services of which not all requests are planned.
    """
    own = [text for plan in plans for text in _of_one(plan)]
    return (*own, *_ceilings(plans), *_usual_loads(plans, in_part), *shared.findings(plans))


def _of_one(plan: Plan) -> Iterator[str]:
    asked, service = plan.workload.slo, plan.service
    judged = all(one.at_slo for one in plan.carries.values())
    for name in (*STRICTER_IF_LESS, *STRICTER_IF_MORE):
        wanted, measured = getattr(asked, name), getattr(service.slo, name)
        stricter = wanted is not None and (wanted > measured if name in STRICTER_IF_MORE else wanted < measured)
        if stricter and not judged:
            yield (
                f"{plan.name}: slo.{name} asks {decimal_text(wanted)}, but {plan.workload.service}'s capacity holds at "
                f"{decimal_text(measured)}: measure it at the stricter one"
            )
    yield from _durations(plan)
    yield from _memory(plan)
    recovery_s = plan.workload.reliability.max_recovery_s
    if recovery_s is not None and recovery_s < service.cold_start.total_s:
        yield (
            f"{plan.name}: reliability.max_recovery_s is {decimal_text(recovery_s)}, but a replica takes "
            f"{service.cold_start.total_s} s to be Ready"
        )


def _memory(plan: Plan) -> Iterator[str]:
    """What cannot work with the model that is sized for; its alternatives are told apart."""
    for one in plan.memory:
        if one.is_sized_for:
            yield from (f"{plan.name}: {one.candidate}: {text}" for text in one.impossible)


def _durations(plan: Plan) -> Iterator[str]:
    asked = plan.workload.slo
    for kind, load in plan.workload.profile.classes.items():
        duration_s = load.request_duration_s
        if duration_s is None:
            continue
        if asked.e2e_p95_s is not None and duration_s > asked.e2e_p95_s:
            yield (
                f"{plan.name}: class {kind} takes {decimal_text(duration_s)} s a request on average, above "
                f"slo.e2e_p95_s ({decimal_text(asked.e2e_p95_s)})"
            )
        calls = load.llm_calls_per_run
        if asked.run_p95_s is not None and calls is not None and calls * duration_s > asked.run_p95_s:
            yield (
                f"{plan.name}: a run of class {kind} takes {decimal_text(calls)} calls x {decimal_text(duration_s)} s "
                f"= {decimal_text(calls * duration_s)} s one after another, above slo.run_p95_s "
                f"({decimal_text(asked.run_p95_s)})"
            )


def _ceilings(plans: Sequence[Plan]) -> Iterator[str]:
    for service, asking in _by_service(plans).items():
        ceiling = asking[0].service.replicas.max
        fewest, most = (sum(getattr(plan, end).reserve.running for plan in asking) for end in ("fewest", "most"))
        if most > ceiling:
            who = " and ".join(plan.name for plan in asking)
            needs = "needs" if len(asking) == 1 else "need"
            yield f"{who} {needs} {_span(fewest, most)} replicas of {service}, whose replicas.max is {ceiling}"


def _usual_loads(plans: Sequence[Plan], in_part: Collection[str]) -> Iterator[str]:
    for service, asking in _by_service(plans).items():
        wrong = contradiction(asking) if service not in in_part else None
        if wrong:
            yield f"{wrong}: correct one of the two, or add the request that is missing there"


def _by_service(plans: Sequence[Plan]) -> Mapping[str, list[Plan]]:
    found: dict[str, list[Plan]] = {}
    for plan in plans:
        found.setdefault(plan.workload.service, []).append(plan)
    return found


def _span(fewest: int, most: int) -> str:
    return str(most) if fewest == most else f"{fewest} to {most}"


def remarks(plan: Plan) -> Iterator[str]:
    """What a reader should know and nothing has to be done about at once."""
    cold_s = plan.service.cold_start.total_s
    for kind, load in plan.workload.profile.classes.items():
        if load.burst_duration_s is not None and load.burst_duration_s < cold_s:
            yield (
                f"bursts of class {kind} last {decimal_text(load.burst_duration_s)} s, less than a replica's start "
                f"({cold_s} s): only what already runs meets them"
            )
    if not all(one.at_slo for one in plan.carries.values()):
        for name in NOT_PROMISED:
            if (wanted := getattr(plan.workload.slo, name)) is not None:
                yield f"slo.{name} ({decimal_text(wanted)}) is held against nothing: no result files were judged by it"
    if plan.workload.observability.records_sensitive_content:
        yield "prompts or outputs are recorded by default; sizing needs none of it, lengths and times are enough"
    if len(plan.workload.profile.classes) > 1:
        yield "the peaks of all classes are taken to coincide"
    yield from untold(plan.workload.profile.classes, plan.carries)


# Sections in which whatever is not said is open; of the others, the fields.
_OPEN: dict[str, tuple[str, ...] | None] = {
    "product": None,
    "models": None,
    "profile": ("horizon_months", "trace"),
    "slo": None,
    "reliability": ("isolation", "availability_pct", "max_recovery_s", "degradation"),
    "observability": None,
}
_OPEN_OF_A_CLASS = ("burst_duration_s", "cancellations_pct")
_OPEN_OF_A_WAY = ("average_pct",)
_INSTEAD_OF_CONFIG = ("parameters_b", "weights_bits")
_LENGTHS = ("input_tokens", "output_tokens", "context_tokens")


def open_questions(plan: Plan) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Fields of the six sections that are not said and, this time, move no number: place -> fields."""
    found: dict[str, list[str]] = {}
    for place, field in _open_fields(plan):
        found.setdefault(place, []).append(field)
    yield from ((place, tuple(fields)) for place, fields in found.items())


def _open_fields(plan: Plan) -> Iterator[tuple[str, str]]:
    assumed = {one.field for one in plan.assumptions}
    for section, fields in _OPEN.items():
        part: Spec = getattr(plan.workload, section)
        for name in fields or type(part).model_fields:
            if getattr(part, name) is None and f"{section}.{name}" not in assumed:
                yield section, name
    for index, candidate in enumerate(plan.workload.models.candidates or ()):
        unsaid = [name for name in _unsaid(candidate) if name not in _INSTEAD_OF_CONFIG]
        yield from ((f"models.candidates[{index}]", name) for name in unsaid)
    for kind, load in plan.workload.profile.classes.items():
        place = f"profile.classes.{kind}"
        of_its_way = [name for name in WAYS[load.way] if name in _OPEN_OF_A_WAY]
        unsaid = [name for name in (*_OPEN_OF_A_CLASS, *of_its_way) if getattr(load, name) is None]
        yield from ((place, name) for name in unsaid if f"{place}.{name}" not in assumed)
        for name in _LENGTHS:
            lengths: Lengths = getattr(load, name)
            yield from (
                (f"{place}.{name}", each) for each in _unsaid(lengths) if f"{place}.{name}.{each}" not in assumed
            )


def _unsaid(part: Spec) -> list[str]:
    return [name for name in type(part).model_fields if getattr(part, name) is None]
