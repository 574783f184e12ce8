"""Numbers out of one result, each noted with the key it was read from.

Unknown stays unknown. Tools write 0 where nothing was measured (no streaming, so no first token), and nothing takes no
time: so a 0 is a number only where 0 can be meant, as in a count of failures or the wait in a client's queue.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import pairwise
from typing import Any

from capacity.sweeps.sweep import Latency, LatencyName

Key = tuple[str | int, ...]


class Unusable(Exception):  # noqa: N818 - it names the state
    """Why a result of a known tool is no point: the reason, without the file."""


def dotted(key: Key) -> str:
    """`("benchmarks", 0, "rate")` -> `benchmarks[0].rate`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in key).removeprefix(".")


def found(document: Any, key: Key) -> Any:
    """What stands at `key`; None where anything on the way is missing."""
    for part in key:
        if isinstance(document, dict):  # by far the most often, and faster to ask than a Mapping
            document = document.get(part)
        elif isinstance(document, list) and isinstance(part, int) and part < len(document):
            document = document[part]
        else:
            return None
    return document


def percentile(name: str) -> float | None:
    """`median` -> 50, `p99` -> 99, `p99.9` and `p99p9` -> 99.9; None for anything else."""
    if name == "median":
        return 50.0
    match = re.fullmatch(r"p(\d{1,2})(?:[.p](\d+))?", name)
    return float(f"{match[1]}.{match[2] or 0}") if match else None


class Fields:
    """Reads numbers out of `document` and fills `keys`: the point's field -> the key it was read from."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        self.keys: dict[str, str] = {}

    def at(self, key: Key) -> float | None:
        """The number at `key`, for something that is reckoned from it: no field is noted.

        Raises:
            Unusable: it is no number, not finite or below 0.
        """
        value = found(self.document, key)
        return None if value is None else _finite(value, key)

    def number(self, field: str, *keys: Key, per: float = 1) -> float | None:
        """The number at the first of `keys` that has one, over `per`. 0 is a number here. Raises as `at` does."""
        for key in keys:
            value = self.at(key)
            if value is not None:
                self.keys[field] = dotted(key)
                return value / per
        return None

    def positive(self, field: str, *keys: Key, per: float = 1) -> float | None:
        """As `number`, where 0 can only mean that nothing was measured."""
        value = self.number(field, *keys, per=per)
        if value == 0:
            del self.keys[field]
            return None
        return value

    def count(self, field: str, *keys: Key) -> int | None:
        """A whole number; 0 is one.

        Raises:
            Unusable: it is no number, below 0 or has a fraction.
        """
        value = self.number(field, *keys)
        return None if value is None else _whole(value, self.keys[field])

    def count_at(self, key: Key) -> int | None:
        """As `count`, for something that is reckoned from it: no field is noted."""
        value = self.at(key)
        return None if value is None else _whole(value, dotted(key))

    def derived(self, field: str, value: float | None, words: str) -> float | None:
        """Note that `field` was reckoned from several keys, as `words` say.

        Raises:
            Unusable: it is more or less than can be measured.
        """
        if value is not None:
            _measurable(value, words)
            self.keys[field] = words
        return value

    def latency(
        self,
        name: LatencyName,
        statistics: Mapping[str, Key],
        *,
        per: float = 1,
        rank: Callable[[str], float | None] = percentile,
    ) -> Latency | None:
        """The latency whose `statistics` (`mean`, `p99`) stand at these keys, in 1/`per` seconds.

        All zeros, or nothing at all, are None; only in a client's queue is no wait a measurement, and there a hair
        below 0 is a request sent early. Less than any clock shows is what the difference of two times rounds: 0.

        Raises:
            Unusable: one of them is no number, not finite, below 0 (in a queue, by a second) or less than a lower one.
        """
        waits = name == "client_queue"
        mean: float | None = None
        ladder: dict[float, tuple[float, str]] = {}
        keys = {}
        for statistic, key in statistics.items():
            value = found(self.document, key)
            place = 0.0 if statistic in MEAN else rank(statistic)
            if value is None or place is None:
                continue
            seconds = _seconds(value, key, per, least=-1 if waits else 0)
            if statistic in MEAN:
                mean, keys[f"{name}.mean"] = seconds, dotted(key)
            else:
                ladder[place] = (seconds, dotted(key))
        if not waits and not mean and not any(seconds for seconds, _ in ladder.values()):
            return None
        if mean is None and not ladder:
            return None
        for (_, (low, lower)), (_, (high, higher)) in pairwise(sorted(ladder.items())):
            if low - high > ROUNDING * abs(low):
                raise Unusable(f"{higher} ({high * per:g}) is below {lower} ({low * per:g}): these are no percentiles")
        self.keys |= keys | {f"{name}.p{place:g}": key for place, (_, key) in sorted(ladder.items())}
        return Latency(mean, {place: seconds for place, (seconds, _) in sorted(ladder.items())})

    def below(self, *key: str | int) -> dict[str, Key]:
        """`statistics` for `latency`: every name below `key`."""
        group = found(self.document, key)
        return {name: (*key, name) for name in group} if isinstance(group, dict) else {}

    def texts(self, names: Mapping[str, Iterable[Key]]) -> dict[str, str]:
        """Facts of the serving side, by the names of `evidence.record`: the first of each one's keys that has any."""
        facts = {}
        for name, keys in names.items():
            value = next((value for key in keys if (value := found(self.document, key)) is not None), None)
            if isinstance(value, str | int | float) and str(value).strip() not in {"", "None"}:
                facts[name] = str(value).lower() if isinstance(value, bool) else str(value)
        return facts


MEAN = ("mean", "avg")
ROUNDING = 1e-6
"""How far percentiles may fall by what interpolating between two requests rounds."""

MOST, LEAST = 1e15, 1e-12
"""Of seconds, requests, tokens, and any of them a second."""

_UNITS_PER_SECOND = {"ns": 1e9, "us": 1e6, "ms": 1e3, "s": 1.0, "sec": 1.0, "seconds": 1.0}


def units_per_second(unit: Any, name: str) -> float:
    """`ms` -> 1000; a latency by the token (`ms/token`) is one too.

    Raises:
        Unusable: no unit of time that is known.
    """
    known = _UNITS_PER_SECOND.get(str(unit).removesuffix("/token"))
    if known is None:
        raise Unusable(f"{name} is in {short(unit)}, which is no unit of time known here")
    return known


def _whole(value: float, place: str) -> int:
    if value != int(value):
        raise Unusable(f"{place} is {value:g}, not a whole number")
    return int(value)


def _finite(value: Any, key: Key, least: float = 0) -> float:
    number = _number(value, key, least)
    _measurable(number, dotted(key))
    return number


def _seconds(value: Any, key: Key, per: float, least: float) -> float:
    number = _number(value, key, least * per)
    if abs(number) < LEAST * per:
        return 0.0
    _measurable(number, dotted(key))
    return number / per


def _number(value: Any, key: Key, least: float) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unusable(f"{dotted(key)} is {short(value)}, not a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise Unusable(f"{dotted(key)} is {'NaN' if math.isnan(number) else 'infinite'}")
    if number < least:
        raise Unusable(f"{dotted(key)} is {number:g}, below {least:g}")
    return number


def _measurable(number: float, place: str) -> None:
    """Raises `Unusable` for what no clock and no counter shows: reckoned with, it would leave what a float holds."""
    if abs(number) > MOST or 0 < abs(number) < LEAST:
        raise Unusable(f"{place} is {number:g}, which nothing measures")


def short(value: Any) -> str:
    """`value` as a reason shows it."""
    if isinstance(value, dict | list):
        return "a mapping" if isinstance(value, dict) else "a list"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
