"""From a sizing request to replicas: load, what one replica carries, whichever binds, and the reserve on top.

What the request leaves out is reckoned at both ends of its assumption; a plan with any is preliminary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from capacity.models.candidate import Memory
from capacity.request import Request
from capacity.sizing.assumptions import Assumption, complete, of_the_reserve
from capacity.sizing.carries import KINDS, Carries, Kind, typed
from capacity.sizing.lengths import Other, at_worst, others
from capacity.sizing.offered import DIMENSIONS, Dimension, Offered, offered
from capacity.sizing.policy import policy, reserve
from capacity.sizing.reserve import Reserve
from stacks.faults import Misfit
from stacks.spec import Service
from stacks.workload_class import WorkloadClass
from stacks.workloads import Reliability, Workload

SECONDS_A_MINUTE = 60


@dataclass(frozen=True)
class End:
    """One end of the plan.

    needs: replicas of load in each dimension that can be compared; `binds` is the largest. growth: replicas of load
    that may come while a replica starts, where no peak bounds it. reliability: as asked, with what had to be assumed.
    """

    offered: Mapping[str, Offered]
    carries: Mapping[str, Carries]
    needs: Mapping[Dimension, Fraction]
    binds: Dimension
    growth: Fraction
    reliability: Reliability
    reserve: Reserve

    @property
    def peak(self) -> Fraction:
        """Replicas of load at the projected peak."""
        return self.needs[self.binds]


@dataclass(frozen=True)
class Plan:
    """One request, sized. `fewest` and `most` are equal where nothing had to be assumed.

    apart: lengths of its requests that are not those that were measured.
    """

    name: str
    workload: Workload
    service: Service
    carries: Mapping[str, Carries]
    fewest: End
    most: End
    assumptions: tuple[Assumption, ...]
    memory: tuple[Memory, ...]
    apart: tuple[Other, ...] = ()

    @property
    def is_refuted(self) -> bool:
        """Whether result files show no load that keeps the SLO: what is reckoned then rests on nothing."""
        return any(one.is_refuted for one in self.carries.values())

    @property
    def is_preliminary(self) -> bool:
        return bool(self.assumptions)

    @property
    def kind(self) -> Kind:
        """That of its weakest number."""
        return max((one.kind for one in self.carries.values()), key=KINDS.index)


def misfits(request: Request) -> Iterator[Misfit]:
    """What of a request no number of replicas can fulfil."""
    said = _reliability(request)
    said = _filled(said, tuple(of_the_reserve(said, "reliability")), "most")
    if not policy(said, request.service, request.pool).is_possible:
        place = ("workloads", request.name, "reliability", "survive")
        expected = "a loss that leaves something beside what a rollout takes away"
        yield Misfit(place, str(said.survive), expected, "Lower rollout.unavailable, or spread wider.")


def plan(request: Request, memory: tuple[Memory, ...] = (), measured: Mapping[str, Carries] | None = None) -> Plan:
    """Size one request against the service it names and the pool that serves it.

    Args:
        measured: what result files say of a class; without, what is typed in platform.yaml and in the request.
        memory: of its model candidates whose size is known (`capacity.models.candidate`), the one sized for first.
    """
    workload, service = request.workload, request.service
    reliability = _reliability(request)
    classes = workload.profile.classes
    carries = {kind: (measured or {}).get(kind) or typed(load, service) for kind, load in classes.items()}
    ttft_ms = workload.slo.ttft_p95_ms or service.slo.ttft_p95_ms
    tpot_ms = workload.slo.tpot_p95_ms or service.slo.tpot_p95_ms
    cold_start_s = service.cold_start.total_s
    ends = {
        kind: complete(
            load,
            f"profile.classes.{kind}",
            ttft_ms=ttft_ms,
            tpot_ms=tpot_ms,
            cold_start_s=cold_start_s,
            wants=_wants(load, carries[kind], workload),
        )
        for kind, load in classes.items()
    }
    reserve_gaps = tuple(of_the_reserve(reliability, "reliability"))
    apart = others(classes, carries, {kind: offered(end.most) for kind, end in ends.items()})
    longest, other_gaps = at_worst(carries, apart)
    fewest, most = (
        _end(
            {kind: getattr(end, which) for kind, end in ends.items()},
            each,
            _filled(reliability, reserve_gaps, which),
            request,
        )
        for which, each in (("fewest", carries), ("most", longest))
    )
    gaps = (*(gap for end in ends.values() for gap in end.assumptions), *other_gaps, *reserve_gaps)
    return Plan(request.name, workload, service, carries, fewest, most, gaps, memory, apart)


def _wants(load: WorkloadClass, carries: Carries, workload: Workload) -> frozenset[str]:
    wants = set()
    by_the_second = carries.load.keys() - {"in_flight"}
    if load.way == "streams":  # whose tokens are said
        by_the_second -= {"output_tokens_per_s"}
    if by_the_second and not carries.at_slo:  # result files have both, of the same requests
        wants.add("request_duration_s")
    if "output_tokens_per_s" in carries.load:
        wants.add("output_tokens")
    if "prefill_tokens_per_s" in carries.load:
        wants |= {"input_tokens", "prefix_cache_hit_pct"}
    if workload.reliability.survive is not None:
        wants.add("largest_minute_jump_pct")
    return frozenset(wants)


def _reliability(request: Request) -> Reliability:
    """As asked; where it names no zones, over those that platform.yaml holds the service to."""
    said = request.workload.reliability
    return said if said.zones is not None else said.model_copy(update={"zones": request.service.zones})


def _filled(said: Reliability, gaps: tuple[Assumption, ...], which: str) -> Reliability:
    values: dict[str, Decimal | int] = {gap.field.rpartition(".")[2]: getattr(gap, which) for gap in gaps}
    if "zones" in values:
        values["zones"] = int(values["zones"])
    return said.model_copy(update=values)


def _end(
    classes: Mapping[str, WorkloadClass],
    carries: Mapping[str, Carries],
    said: Reliability,
    request: Request,
) -> End:
    loads = {kind: offered(load) for kind, load in classes.items()}
    filled = {kind: _filling(loads[kind], carries[kind]) for kind in classes}
    needs: dict[Dimension, Fraction] = {}
    for name in DIMENSIONS:
        if any(name in replicas for replicas in filled.values()):
            needs[name] = sum((_share_of(replicas, name) for replicas in filled.values()), Fraction(0))
    binds = max(needs, key=lambda name: needs[name])
    growth = sum(
        (_growth(load, _share_of(filled[kind], binds), request.service) for kind, load in classes.items()), Fraction(0)
    )
    peak = needs[binds]
    return End(
        loads,
        carries,
        needs,
        binds,
        growth,
        said,
        reserve(peak, growth, said, request.service, request.pool, peak=peak),
    )


def _filling(load: Offered, carries: Carries) -> dict[Dimension, Fraction]:
    """Replicas that one class fills, in each dimension it is known in."""
    return {
        name: load.load[name] / carries.load[name] for name in DIMENSIONS if {name} <= load.load.keys() & carries.load
    }


def _share_of(filled: Mapping[Dimension, Fraction], name: Dimension) -> Fraction:
    """Replicas of one class in a dimension; where it is not known there, the most it is known to fill: no less of a
    replica is left for the others.
    """
    return filled[name] if name in filled else max(filled.values())


def _growth(load: WorkloadClass, filled: Fraction, service: Service) -> Fraction:
    """Replicas of load that may come while a replica starts: the largest jump each minute, while the burst lasts.

    One jump comes in any case: it need not take its whole minute. What the peak leaves of it is `Policy.to_come`.
    Headroom asks for no jump, and counts none.
    """
    if load.largest_minute_jump_pct is None:
        return Fraction(0)
    lasts_s = Fraction(service.cold_start.total_s)
    if load.burst_duration_s is not None:
        lasts_s = min(lasts_s, Fraction(load.burst_duration_s))
    minutes = max(lasts_s / SECONDS_A_MINUTE, Fraction(1))
    return filled * Fraction(load.largest_minute_jump_pct) / 100 * minutes
