"""What the results of vLLM's and SGLang's benchmarks have in common: one began as a copy of the other."""

from __future__ import annotations

import math
import re
from typing import Any

from capacity.sweeps.sweep import Arrivals, LatencyName, PerRequest
from evidence.formats.fields import MOST, Fields, Key, Unusable

METRICS: dict[str, LatencyName] = {
    "ttft": "ttft",
    "tpot": "tpot",
    "itl": "itl",
    "e2el": "e2e",
    "e2e_latency": "e2e",
    "client_queue_time": "client_queue",
}
_STATISTIC = re.compile(r"(mean|median|p[\d.]+)_(" + "|".join(METRICS) + ")")


def statistics(document: dict[str, Any], suffix: str = "_ms") -> dict[LatencyName, dict[str, Key]]:
    """`p99.9_ttft_ms` -> {"ttft": {"p99.9": its key}}. p50 has no key of its own: it is `median`."""
    by_latency: dict[LatencyName, dict[str, Key]] = {}
    for key in document:
        if key.endswith(suffix) and (match := _STATISTIC.fullmatch(key.removesuffix(suffix))):
            by_latency.setdefault(METRICS[match[2]], {})[match[1]] = (key,)
    return by_latency


def arrivals(fields: Fields, limit: float | None) -> Arrivals | None:
    """How requests came, by `request_rate`: a number, infinity in one of its spellings, or `trace`."""
    rate = fields.document.get("request_rate")
    if rate is None:
        return None
    fields.keys["arrivals"] = "request_rate"
    if rate == "trace":
        return "replay"
    if _is_unbounded(rate):
        return "burst" if limit is None else "closed"
    return "open"


def requested_rps(fields: Fields) -> float | None:
    """The rate asked for, where one was."""
    rate = fields.document.get("request_rate")
    return None if rate == "trace" or _is_unbounded(rate) else fields.positive("requested_rps", ("request_rate",))


def _is_unbounded(rate: Any) -> bool:
    return rate in ("inf", math.inf)


def tokens(fields: Fields, field: str, total: str, over: float | None, name: str) -> float | None:
    """`total` tokens over the duration or the number of requests, `name`."""
    count = fields.at((total,))
    return fields.derived(field, count / over, f"{total} / {name}") if count and over else None


def column(document: dict[str, Any], key: str) -> list[float] | None:
    """One number a request.

    Raises:
        Unusable: one of them is not finite.
    """
    values = document.get(key)
    return _numbers(values, key) if isinstance(values, list) else None


def _numbers(values: list[Any], key: str) -> list[float]:
    try:
        # Only a sum of finite numbers is finite, and Python adds them up faster than it looks at each.
        is_finite = math.isfinite(sum(values))
    except (TypeError, OverflowError):
        is_finite = False
    if not is_finite:
        raise Unusable(f"{key} holds something else than finite numbers")
    if max(values, default=0) > MOST:
        raise Unusable(f"{key} holds {max(values):g}, which nothing measures")
    return values


def per_request(document: dict[str, Any], completed: int | None) -> PerRequest | None:
    """The completed requests of a detailed result, in seconds. A failed one has no end, so its latency is 0."""
    ttft, lengths, latencies = (column(document, key) for key in ("ttfts", "output_lens", "latencies"))
    if latencies is None:
        latencies = _summed(ttft, document.get("itls"))
    if latencies is None:
        return None
    errors = document.get("errors")
    if not isinstance(errors, list) or len(errors) != len(latencies):
        errors = [""] * len(latencies)
    done = [index for index, seconds in enumerate(latencies) if seconds > 0 and not errors[index]]
    if len(done) != completed or not done:
        return None
    e2e = tuple(latencies[index] for index in done)
    if ttft is None or len(ttft) != len(latencies) or not any(ttft):
        return PerRequest(e2e_s=e2e)
    first = tuple(ttft[index] for index in done)
    if lengths is None or len(lengths) != len(latencies):
        return PerRequest(ttft_s=first, e2e_s=e2e)
    # As vLLM counts goodput: one token has no next one to wait for.
    counts = [lengths[index] for index in done]
    tpot = tuple((e - f) / (n - 1) if n > 1 else 0.0 for e, f, n in zip(e2e, first, counts, strict=True))
    return PerRequest(first, tpot, e2e)


def _summed(ttft: list[float] | None, gaps: Any) -> list[float] | None:
    """Each request's latency: up to the first token, and from token to token after it."""
    if ttft is None or not isinstance(gaps, list) or len(gaps) != len(ttft):
        return None
    if not all(isinstance(rest, list) for rest in gaps):
        raise Unusable("itls holds something else than lists")
    return [first + math.fsum(_numbers(rest, "itls")) for first, rest in zip(ttft, gaps, strict=True)]
