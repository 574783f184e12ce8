"""What follows from a plan for the service's settings, each with its reason; the upper end counts where it has two.

threshold         the operating target, or less where something else fills a replica first: KEDA counts in flight alone
max_num_seqs      the knee: the operating target is 75 % of it; no more than was seen to keep the SLO, or than the GPUs'
                  memory holds at p95
in-flight limit   max_num_seqs, and who may wait behind them without missing the first token's limit; where what comes
                  beyond is rejected, no more than was seen to keep the time per token, too
queued tokens     that limit x the prefill tokens a replica computes in a second, where a request says them
gateway's cap     what all replicas at the ceiling hold
zones             as many as the plan spreads over, where the loss of one is to be survived
min, max          what runs at the usual peak and at the projected one, with the reserve

None of the last two lines is ever lowered, and min is never above max.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

from capacity.replicas import decimal_text, least_in_flight_limit, whole
from capacity.sizing.plan import Plan
from capacity.sizing.threshold import in_flight_at_peak, most_at_slo, rejects, threshold
from capacity.sizing.usual import contradiction, usual
from capacity.spread import over_zones
from capacity.sweeps.operating import OF_THE_KNEE
from stacks.spec import NodePool, Service

Place = tuple[str, ...]
MS = 1000
THRESHOLD = "KEDA's threshold, in flight a replica"
BASELINE: Place = ("replicas", "min")
IN_FLIGHT_LIMIT = "in flight at one replica at most"


@dataclass(frozen=True)
class Flags:
    """The engine's own names of its bounds, without dashes; `younger` are those it lacks, and what brought them."""

    in_flight_limit: str
    queued_tokens_limit: str | None
    younger: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """One value. `place` is where it belongs in the service of platform.yaml, None if it has no field there.

    value: a number, or text for a flag. now: what is there.
    """

    name: str
    place: Place | None
    now: str | None
    value: int | Decimal | str
    why: str

    @property
    def changes(self) -> bool:
        return self.place is not None and self.now != str(self.value)


def settings(plans: Sequence[Plan], pool: NodePool, flags: Flags) -> tuple[Setting, ...]:
    """Of one service, from all the requests that are made to it."""
    service, name = plans[0].service, plans[0].workload.service
    level = threshold(plans)
    target = level.operating
    now = decimal_text(Fraction(service.capacity.in_flight_per_replica))
    found = [Setting(THRESHOLD, ("capacity", "in_flight_per_replica"), now, _yaml_number(level.value), level.why)]
    sequences = _sequences(plans, target)
    found.append(sequences)
    slots = int(sequences.value)
    found += _queue(plans, slots, target, flags)
    limit = next((int(one.value) for one in found if one.name == IN_FLIGHT_LIMIT), slots)
    highest = max(service.replicas.max, sum(plan.most.reserve.running for plan in plans))
    found.append(
        Setting(
            "gateway's cap, in flight",
            None,
            None,
            highest * limit,
            f"{highest} replicas of {name} hold {limit} each; what comes beyond is told to come again at once",
        )
    )
    return (*found, *_replicas(plans, pool, level.value), *_zones(plans))


def _yaml_number(number: Fraction) -> int | Decimal:
    text = decimal_text(number)
    return int(text) if text.isdecimal() else Decimal(text)


def _sequences(plans: Sequence[Plan], target: Fraction) -> Setting:
    service = plans[0].service
    knee = math.ceil(target / OF_THE_KNEE)
    why = (
        f"the knee: {decimal_text(target)} is {decimal_text(100 * OF_THE_KNEE)} % of it; more only slow each other down"
    )
    measured = [one.sequences for plan in plans for one in plan.carries.values() if one.sequences is not None]
    if measured:
        knee, why = min(measured), "as measured: with another number the evidence is of another configuration"
    elif (bound := most_at_slo(plans)) is not None and bound < knee:
        knee = max(bound, math.floor(target) + 1)
        why = f"more than {bound} in flight were not seen to keep the SLO"
    value = knee
    fits = [fit for plan in plans for one in plan.memory if one.is_sized_for for fit in one.fits]
    fits = [fit for fit in fits if fit.what.startswith("p95")]
    least = min(fits, key=lambda fit: fit.fewest, default=None)
    if least is not None and least.fewest < knee:
        # The spec wants it above the target; below that memory() has found what cannot work.
        value = max(least.fewest, math.floor(target) + 1)
        of = f"of {least.tokens} tokens ({least.what}) fit into the GPUs' memory"
        if value > least.fewest:
            why = f"more than the {decimal_text(target)} in flight, as it must be; but only {least.fewest} {of}"
        else:
            why = f"as many {of}, not {knee} ({why})"
    return Setting("sequences at once", ("engine", "max_num_seqs"), str(service.engine.max_num_seqs), value, why)


def _queue(plans: Sequence[Plan], slots: int, target: Fraction, flags: Flags) -> Iterator[Setting]:
    service = plans[0].service
    limit_ms, whose = min((_wait_ms(plan) for plan in plans), key=lambda wait: wait[0])
    bounds = []
    duration_s = _duration_s(plans)
    if duration_s is not None:
        each_s = duration_s / slots
        waiting = math.floor(limit_ms / MS / each_s)
        why = (
            f"a place frees every {_short(duration_s)} s / {slots} = {_short(each_s)} s, so {waiting} more may wait "
            f"within {whose} of {decimal_text(limit_ms)} ms"
        )
        bounds.append((slots + waiting, why))
    if rejects(plans):
        bounds.append(_seen_to_hold(plans, target))
    if bounds:
        value, why = min(bounds, key=lambda one: one[0])
        value = max(value, least_in_flight_limit(target))
        yield _bound(IN_FLIGHT_LIMIT, flags.in_flight_limit, value, why, service=service, flags=flags)
    prefill = _prefill(plans)
    if prefill is not None and flags.queued_tokens_limit:
        value = math.floor(prefill * limit_ms / MS)
        why = f"{decimal_text(limit_ms)} ms ({whose}) x {_short(prefill)} prefill tokens/s of one replica"
        yield _bound("prompt tokens that wait", flags.queued_tokens_limit, value, why, service=service, flags=flags)


def _seen_to_hold(plans: Sequence[Plan], target: Fraction) -> tuple[int, str]:
    """How many in flight keep the time to the first token and per token, as far as that was seen."""
    most = most_at_slo(plans)
    if most is not None:
        return most, "overload: reject; more were not seen to keep both the time to the first token and per token"
    least = least_in_flight_limit(target)
    return least, (
        f"overload: reject; nothing shows that more than {decimal_text(target)} keep the time per token, and below "
        "this the autoscaler would never see more than its threshold"
    )


def _bound(name: str, flag: str, value: int, why: str, *, service: Service, flags: Flags) -> Setting:
    """One of the engine's own; without a place where the engine is too old to have it."""
    engine = service.engine
    if brought := flags.younger.get(flag):
        why = f"{why}; {engine.kind} {engine.version} has no --{flag}, {brought} brought it"
        return Setting(name, None, None, str(value), why)
    return Setting(name, ("engine", "args", flag), engine.args.get(flag), str(value), why)


def _wait_ms(plan: Plan) -> tuple[Fraction, str]:
    """How long a request may wait before its first token, and what says so."""
    if plan.workload.slo.queue_p95_ms is not None:
        return Fraction(plan.workload.slo.queue_p95_ms), "slo.queue_p95_ms"
    return Fraction(plan.workload.slo.ttft_p95_ms or plan.service.slo.ttft_p95_ms), "the TTFT limit"


def _duration_s(plans: Sequence[Plan]) -> Fraction | None:
    """Mean over all requests, by Little's law; None where a class does not say its rate."""
    loads = [offered.load for plan in plans for offered in plan.most.offered.values()]
    if any("rps" not in load or "in_flight" not in load for load in loads):
        return None
    rps = sum((load["rps"] for load in loads), Fraction(0))
    return sum((load["in_flight"] for load in loads), Fraction(0)) / rps if rps else None


def _prefill(plans: Sequence[Plan]) -> Fraction | None:
    """The least that one replica computes, where it is said of any class.

    Not what result files show at the target: so much arrived there, and a replica that waits for nothing computes more.
    As a bound it would refuse prompts of the very load that the replica is to carry.
    """
    known = [
        Fraction(load.per_replica.prefill_tokens_per_s)
        for plan in plans
        for load in plan.workload.profile.classes.values()
        if load.per_replica and load.per_replica.prefill_tokens_per_s is not None
    ]
    return min(known, default=None)


def _replicas(plans: Sequence[Plan], pool: NodePool, target: Fraction) -> Iterator[Setting]:
    """Whatever is derived, the baseline is no higher than the ceiling."""
    now = plans[0].service.replicas
    running = sum(plan.most.reserve.running for plan in plans)
    if rejects(plans) and (held := in_flight_at_peak(plans)) is not None:
        running = max(running, whole(held / target))
    ceiling = max(now.max, running)
    yield from _baseline(plans, pool, target, ceiling)
    why = f"{running} run at the projected peak, with the reserve"
    yield Setting("ceiling", ("replicas", "max"), str(now.max), ceiling, _kept(why, running, now.max))


def _baseline(plans: Sequence[Plan], pool: NodePool, target: Fraction, ceiling: int) -> Iterator[Setting]:
    now = plans[0].service.replicas.min
    if wrong := contradiction(plans):
        yield Setting(
            "baseline", BASELINE, str(now), now, f"{wrong}: nothing follows from it, the {now} that are set stay"
        )
    elif found := usual(plans, pool, target):
        running = min(found.running, ceiling)
        rise = f" and {_short(found.to_come)} that may come while one starts" if found.to_come else ""
        why = f"{found.source}: {_short(found.load)} replicas of load{rise}, {running} with the reserve"
        yield Setting("baseline", BASELINE, str(now), max(now, running), _kept(why, running, now))


def _zones(plans: Sequence[Plan]) -> Iterator[Setting]:
    now = plans[0].service.zones
    surviving = [plan.most.reliability for plan in plans if plan.most.reliability.survive == "zone"]
    zones = max((said.zones for said in surviving if said.zones is not None), default=None)
    if zones is None:
        return
    spread = over_zones(zones)
    why = (
        f"a zone may be lost only if none holds more than its share: {spread.when_unsatisfiable}, maxSkew "
        f"{spread.max_skew}, minDomains {zones}"
    )
    value = max(zones, now or 0)
    yield Setting("zones", ("zones",), None if now is None else str(now), value, _kept(why, zones, now or 0))


def _kept(why: str, derived: int, now: int) -> str:
    return f"{why}; the {now} that are set stay" if now > derived else why


def _short(number: Fraction) -> str:
    return decimal_text(round(number, 3))
