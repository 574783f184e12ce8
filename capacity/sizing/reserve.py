"""How many replicas must run so that the peak is carried through what may happen: reserves as sets, not a percentage.

    failure           the largest loss to survive (pod, node, zone): what must run so that the rest still carries it
    rollout           replicas a new version takes away while it rolls out; its surge needs room beside the running ones
    cold_start        what the load grows by until a replica that is asked for now is Ready, up to the projected peak
    near_term_growth  what it grows by until more GPUs can be had

A rise leads to the peak and not beyond it: of that the plan is the projection, and near_term_growth what it may be off.
So at the peak the cold start takes nothing, and at any lower load (the baseline) what comes before another is Ready.

All may happen at once, unless it is said which do not (`one_at_a_time`): then the worst combination counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Literal, get_args

from capacity.replicas import decimal_text, whole
from capacity.spread import Spread
from stacks.node_contract import ZONE_LABEL
from stacks.workloads import ReserveName

Domain = Literal["none", "pod", "node", "zone"]
RESERVES: tuple[ReserveName, ...] = get_args(ReserveName)


@dataclass(frozen=True)
class Policy:
    """What to survive. Loads are in replicas, as fractions.

    replicas_per_node: as many as its GPUs hold, which is how they are packed at worst. surge, unavailable: a rollout's,
    as a Deployment has them: `1`, `25%`. cold_start_growth: what may come while a replica starts; peak: the load beyond
    which none does, None if it is not known.
    """

    survive: Domain = "none"
    zones: int = 3
    replicas_per_node: int = 1
    capacity_after_loss_pct: Fraction = Fraction(100)
    surge: str = "1"
    unavailable: str = "0"
    cold_start_growth: Fraction = Fraction(0)
    peak: Fraction | None = None
    near_term_growth_pct: Fraction = Fraction(0)
    one_at_a_time: frozenset[ReserveName] = frozenset()

    @property
    def is_possible(self) -> bool:
        """Whether any number of replicas can survive it: a zone and a rollout may together take everything."""
        return all(_part_left(self, names) > 0 for names in _scenarios(self))

    def to_come(self, load: Fraction) -> Fraction:
        """What comes on top of `load` while a replica starts."""
        return (
            self.cold_start_growth
            if self.peak is None
            else min(self.cold_start_growth, max(self.peak - load, Fraction(0)))
        )


@dataclass(frozen=True)
class Part:
    """One set of the reserve: how many replicas, and why as many. A covered one lies within another."""

    name: ReserveName | Literal["base", "headroom"]
    replicas: int
    why: str
    covered: bool = False


@dataclass(frozen=True)
class Reserve:
    """`running` replicas at the peak, the sum of the parts not covered; `surge` is room a rollout needs beside them."""

    parts: tuple[Part, ...]
    running: int
    surge: int

    @property
    def base(self) -> int:
        return self.parts[0].replicas


def headroom(load: Fraction, pct: Fraction, surge: str) -> Reserve:
    """The simple alternative: per cent on top of the load, rounded once.

    Args:
        load: the peak in replicas, as a fraction.
        surge: a rollout's, `1` or `25%`.
    """
    base, running = whole(load), whole(load * (1 + pct / 100))
    why = f"{decimal_text(load)} x {decimal_text(1 + pct / 100)} = {decimal_text(load * (1 + pct / 100))}"
    parts = (Part("base", base, _base(load)), Part("headroom", running - base, why))
    return Reserve(parts, running, slots(surge, running, up=True))


def sets(load: Fraction, policy: Policy) -> Reserve:
    """The fewest replicas that carry `load` (in replicas) through every combination the policy expects.

    Raises:
        ValueError: the policy is not possible.
    """
    if not policy.is_possible:
        raise ValueError("what is to be survived takes every replica")
    scenarios = tuple(_scenarios(policy))
    worst = max(scenarios, key=lambda names: _running(load, policy, names))
    running = _running(load, policy, worst)
    parts = [Part("base", whole(load), _base(load))]
    names: frozenset[ReserveName] = frozenset()
    # The failure comes last: what it takes away depends on all the others that run.
    for name in ("near_term_growth", "cold_start", "rollout", "failure"):
        within = names | {name} if name in worst else names
        grown = _running(load, policy, within) - _running(load, policy, names)
        alone = _running(load, policy, frozenset({name})) - whole(load)
        is_covered = name not in worst and alone > 0
        shown = alone if is_covered else grown
        parts.append(Part(name, shown, _why(name, policy, load, running), is_covered))
        names = within
    return Reserve(tuple(parts), running, slots(policy.surge, running, up=True))


def lost(running: int, policy: Policy) -> int:
    """Replicas that go with the largest domain to be survived."""
    if policy.survive == "zone":
        return math.ceil(Fraction(running, policy.zones))
    return min(running, {"none": 0, "pod": 1, "node": policy.replicas_per_node}[policy.survive])


def slots(text: str, replicas: int, *, up: bool) -> int:
    """`25%` of `replicas`, or a plain number. Source: Kubernetes, deployment util ResolveFenceposts: surge goes up,
    unavailable down.
    """
    if not text.endswith("%"):
        return int(text)
    part = Fraction(int(text[:-1]), 100) * replicas
    return math.ceil(part) if up else math.floor(part)


def _scenarios(policy: Policy) -> Iterator[frozenset[ReserveName]]:
    """What may come together: everything, with one at a time of those that are said not to."""
    always = frozenset(RESERVES) - policy.one_at_a_time
    if not policy.one_at_a_time:
        yield always
    for name in sorted(policy.one_at_a_time):
        yield always | {name}


def _running(load: Fraction, policy: Policy, names: frozenset[ReserveName]) -> int:
    grown = load
    if "near_term_growth" in names:
        grown *= 1 + policy.near_term_growth_pct / 100
    if "cold_start" in names:
        grown += policy.to_come(load)
    after = grown * policy.capacity_after_loss_pct / 100 if "failure" in names else grown
    rollout, failure = "rollout" in names, "failure" in names

    def carries(running: int) -> bool:
        there = running - (slots(policy.unavailable, running, up=False) if rollout else 0)
        return there >= grown and there - (lost(running, policy) if failure else 0) >= after

    # From a number that is certainly not enough, or is just: each share of n leaves at most one replica more.
    needs = ((grown, names - {"failure"}), (after, names))
    first = max(math.floor((whole(need) - 1) / _part_left(policy, gone)) for need, gone in needs)
    return next(running for running in count(max(first, whole(load))) if carries(running))


def _part_left(policy: Policy, names: frozenset[ReserveName]) -> Fraction:
    """The part of many replicas that what is in percent, or a zone, leaves."""
    left = Fraction(1)
    if "rollout" in names and policy.unavailable.endswith("%"):
        left -= Fraction(int(policy.unavailable[:-1]), 100)
    if "failure" in names and policy.survive == "zone":
        left -= Fraction(1, policy.zones)
    return left


def _base(load: Fraction) -> str:
    return f"ceil({decimal_text(load)})"


def _why(name: ReserveName, policy: Policy, load: Fraction, running: int) -> str:
    if name == "near_term_growth":
        return f"{decimal_text(policy.near_term_growth_pct)} % beyond the projected peak"
    if name == "cold_start":
        return _why_cold_start(policy, load)
    if name == "rollout":
        return f"unavailable {policy.unavailable}; surge {policy.surge} needs room, not running replicas"
    if policy.survive == "none":
        return "nothing is to be survived"
    gone = lost(running, policy)
    carried = decimal_text(policy.capacity_after_loss_pct)
    told = {
        "pod": "a pod is one replica",
        "node": f"a node holds up to {policy.replicas_per_node}",
        "zone": f"the largest of {policy.zones} zones holds {gone} of {running}, if spread with maxSkew "
        f"{Spread.max_skew} and minDomains {policy.zones} over {ZONE_LABEL}",
    }[policy.survive]
    return f"{told}; without it {running - gone} remain, for {carried} % of the peak"


def _why_cold_start(policy: Policy, load: Fraction) -> str:
    rise, comes = policy.cold_start_growth, policy.to_come(load)
    if comes == rise:
        return f"{decimal_text(rise)} replicas of load come before a new one is Ready"
    before = f"{decimal_text(round(rise, 3))} replicas of load may come before a new one is Ready"
    if comes:
        return f"{before}, but {decimal_text(round(comes, 3))} until the projected peak"
    return f"{before}: on the way to this peak, so that the baseline has them, and none beyond it"
