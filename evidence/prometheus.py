"""A Prometheus server, asked over its HTTP API within a bounded time.

Source: prometheus.io/docs/prometheus/latest/querying/api: query and query_range; a value is a text.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import httpx2

from stacks.reach import OutOfReach

TIMEOUT_S = 15.0
_FIX = (
    "Is it up, and reachable from here? From outside the cluster its address is another: "
    "port-forward to it, and name that address with --prometheus."
)


@dataclass(frozen=True)
class Sample:
    """One element of an instant query. NaN is no number: it is left out where samples are read."""

    labels: Mapping[str, str]
    value: Fraction


def without_password(url: str) -> str:
    """`http://user:password@host` as it may be printed."""
    return re.sub(r"//[^/@\s]*@", "//", url)


class Prometheus:
    """Asks one server."""

    def __init__(self, url: str, transport: httpx2.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        self.address = without_password(self.url)
        # Proxy variables count for an address outside, and a scheme or host that is none is told when it is asked.
        self._client = httpx2.Client(timeout=httpx2.Timeout(TIMEOUT_S, connect=5.0), transport=transport)

    def close(self) -> None:
        self._client.close()

    def instant(self, query: str, at: int) -> tuple[Sample, ...]:
        """The elements of `query` at Unix time `at`.

        Raises:
            OutOfReach: it does not answer, or not as a Prometheus does.
        """
        found = self._ask("query", {"query": query, "time": at})
        try:
            pairs = [({**one["metric"]}, _number(one["value"])) for one in found]
        except (KeyError, TypeError, ValueError, ArithmeticError):
            raise self._not_a_prometheus() from None
        return tuple(Sample(labels, value) for labels, value in pairs if value is not None)

    def series(self, query: str, begin: int, end: int, step_s: int) -> dict[int, Fraction] | None:
        """The one series of `query` at begin, begin + step_s, ... up to end; None where it has none.

        Raises:
            OutOfReach: it does not answer, or not as a Prometheus does.
        """
        found = self._ask("query_range", {"query": query, "start": begin, "end": end, "step": step_s})
        try:
            return dict(_points(found[0]["values"])) if found else None
        except (KeyError, TypeError, ValueError, ArithmeticError):
            raise self._not_a_prometheus() from None

    def _ask(self, what: str, parameters: Mapping[str, str | int]) -> list[Any]:
        try:
            response = self._client.get(
                f"{self.url}/api/v1/{what}", params={**parameters, "timeout": f"{TIMEOUT_S:.0f}s"}
            )
            answer = response.json()
        except httpx2.TimeoutException:
            raise OutOfReach(self.address, f"no answer within {TIMEOUT_S:.0f} s", _FIX) from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            reason = without_password(str(error)) or type(error).__name__
            raise OutOfReach(self.address, reason, _FIX) from None
        except ValueError:
            raise OutOfReach(self.address, f"it answered {response.status_code}, and not with JSON", _FIX) from None
        if isinstance(answer, dict) and answer.get("status") == "error":
            said = f"it answered {response.status_code}: {' '.join(str(answer.get('error')).split())}"
            raise OutOfReach(self.address, said, "Look at its log, or ask for a shorter window.")
        try:
            found: list[Any] = answer["data"]["result"]
        except (KeyError, TypeError):
            raise self._not_a_prometheus() from None
        if not isinstance(found, list):
            raise self._not_a_prometheus()
        return found

    def _not_a_prometheus(self) -> OutOfReach:
        return OutOfReach(self.address, "its answer is not one of a Prometheus", "Is the address right?")


def _points(values: list[Any]) -> Iterator[tuple[int, Fraction]]:
    for pair in values:
        value = _number(pair)
        if value is not None:
            yield round(float(pair[0])), value


def _number(pair: list[Any]) -> Fraction | None:
    """The value of `[time, "0.25"]`, exactly; None for NaN and infinities."""
    number = Decimal(str(pair[1]))
    return Fraction(number) if math.isfinite(number) else None
