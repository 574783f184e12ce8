"""Whether result files are of requests as long as those that are planned: a replica carries fewer that are longer.

Classes that rest on the same result files are compared as the mix that they are. Within a tenth the lengths are the
same. Up to twice as long, or half, the plan is preliminary: what a replica carries lies between what was measured and
as much less as

    max(1, input ratio, output ratio, input ratio / output ratio)

says. Longer requests hold more of the KV cache and of the bandwidth to read it, at worst in proportion; shorter answers
free their places sooner, so that each place computes more prompts. Beyond twice a replica does other work than was
measured: prompts and answers share it in a proportion that nothing shows, and a range that wide is no plan. That is
evidence of something else, as that of another GPU is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

from capacity.replicas import decimal_text
from capacity.request import Request
from capacity.shown import shown
from capacity.sizing.assumptions import Assumption, said_mean
from capacity.sizing.carries import LENGTHS, Carries, LengthName
from capacity.sizing.offered import Dimension, Offered
from stacks.faults import Misfit
from stacks.workload_class import WorkloadClass

SAME = Fraction(1, 10)
GROSS = Fraction(2)
PER_REQUEST: tuple[Dimension, ...] = ("in_flight", "rps")
"""What a replica carries less of, the longer each is; tokens per second are counted as they are."""
WORDS: dict[LengthName, str] = {"input_tokens": "input", "output_tokens": "output"}


@dataclass(frozen=True)
class Other:
    """A mean length of `classes` together, least and greatest where it is a range, that is not what was measured."""

    name: LengthName
    classes: tuple[str, ...]
    asked: tuple[Fraction, Fraction]
    measured: Fraction

    @property
    def ratio(self) -> Fraction:
        """Of the nearer end to what was measured."""
        return _ratio(self.asked, self.measured)

    def __str__(self) -> str:
        return f"{WORDS[self.name]} {_span(self.asked)} tokens instead of {shown(self.measured)}"


def others(
    classes: Mapping[str, WorkloadClass], carries: Mapping[str, Carries], loads: Mapping[str, Offered]
) -> tuple[Other, ...]:
    """Every length that differs, of all classes that rest on the same result files."""
    return tuple(
        one
        for kinds in _groups(carries)
        for name in LENGTHS
        if (one := _compared(name, kinds, classes, carries, loads)) and abs(one.ratio - 1) > SAME
    )


def misfits(request: Request, found: tuple[Other, ...], carries: Mapping[str, Carries]) -> Iterator[Misfit]:
    """Evidence of requests that are grossly longer or shorter."""
    for one in found:
        if 1 / GROSS <= one.ratio <= GROSS:
            continue
        kind = one.classes[0]
        whose = f" over {' and '.join(one.classes)}" if len(one.classes) > 1 else ""
        expected = (
            f"no more than twice and no less than half of {shown(one.measured)}, as {carries[kind].evidence} has it"
        )
        fix = "Measure a replica at these lengths, name that evidence (per_replica, for one class), or correct them."
        place = ("workloads", request.name, "profile", "classes", kind, one.name)
        yield Misfit(place, f"a mean of {_span(one.asked)}{whose}", expected, fix)


def at_worst(
    carries: Mapping[str, Carries], found: tuple[Other, ...]
) -> tuple[dict[str, Carries], tuple[Assumption, ...]]:
    """What a replica carries at the upper end of the plan, and what that assumes of each class."""
    less, gaps = dict(carries), []
    for kind, one in carries.items():
        ours = {each.name: each for each in found if kind in each.classes}
        if not ours:
            continue
        longer, answers = (ours[name].ratio if name in ours else Fraction(1) for name in LENGTHS)
        divisor = max(Fraction(1), longer, answers, longer / answers)
        load = {name: value / divisor if name in PER_REQUEST else value for name, value in one.load.items()}
        less[kind] = replace(one, load=load)
        why = f"{one.evidence} was measured at other lengths: {' and '.join(map(str, ours.values()))}"
        field = f"profile.classes.{kind}.per_replica.in_flight"
        gaps.append(Assumption(field, _decimal(one.load["in_flight"]), _decimal(load["in_flight"]), why))
    return less, tuple(gaps)


def untold(classes: Mapping[str, WorkloadClass], carries: Mapping[str, Carries]) -> Iterator[str]:
    """Classes that do not say lengths which their result files have."""
    for kind, one in carries.items():
        unsaid = [name for name in LENGTHS if name in one.lengths and said_mean(getattr(classes[kind], name)) is None]
        if unsaid:
            has = " and ".join(f"{shown(one.lengths[name])} {WORDS[name]}" for name in unsaid)
            fields = ", ".join(f"{name}.mean" for name in unsaid)
            yield f"{one.evidence} was measured at {has} tokens a request; class {kind} says no {fields} to compare"


def _groups(carries: Mapping[str, Carries]) -> list[tuple[str, ...]]:
    """Classes by the result files that they rest on."""
    found: dict[tuple[str, tuple[tuple[LengthName, Fraction], ...]], list[str]] = {}
    for kind, one in carries.items():
        if one.lengths:
            found.setdefault((one.evidence, tuple(sorted(one.lengths.items()))), []).append(kind)
    return [tuple(kinds) for kinds in found.values()]


def _compared(
    name: LengthName,
    kinds: tuple[str, ...],
    classes: Mapping[str, WorkloadClass],
    carries: Mapping[str, Carries],
    loads: Mapping[str, Offered],
) -> Other | None:
    """None where one class does not say, or does not say how many of its requests there are among the others'."""
    measured = carries[kinds[0]].lengths.get(name)
    said = [said_mean(getattr(classes[kind], name)) for kind in kinds]
    known = [one for one in said if one is not None]
    rates = [loads[kind].load.get("rps") for kind in kinds] if len(kinds) > 1 else [Fraction(1)]
    weights = [rate for rate in rates if rate is not None]
    if measured is None or len(known) < len(kinds) or len(weights) < len(kinds) or not sum(weights):
        return None
    least, greatest = (
        sum((Fraction(one[end]) * weight for one, weight in zip(known, weights, strict=True)), Fraction(0))
        / sum(weights)
        for end in (0, 1)
    )
    return Other(name, kinds, (least, greatest), measured)


def _ratio(asked: tuple[Fraction, Fraction], measured: Fraction) -> Fraction:
    least, greatest = asked
    return least / measured if least > measured else greatest / measured if greatest < measured else Fraction(1)


def _span(asked: tuple[Fraction, Fraction]) -> str:
    least, greatest = asked
    return shown(least) if least == greatest else f"{shown(least)} to {shown(greatest)}"


def _decimal(number: Fraction) -> Decimal:
    return Decimal(decimal_text(number))
