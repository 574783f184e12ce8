"""AIPerf 0.1: its metrics stood below `records`, and the time to the first token was called `ttft`.

Source: ai-dynamo/aiperf 0.1.1 (`exporters/json_exporter.py`, `metrics/types/ttft_metric.py`).
"""

from __future__ import annotations

import re
from typing import Any

_LATER = {"ttft": "time_to_first_token"}


def as_later(document: dict[str, Any]) -> dict[str, Any]:
    """The document as later versions would have written it; any other one as it is."""
    records = document.get("records")
    if not isinstance(records, dict):
        return document
    return document | {str(_LATER.get(name, name)): metric for name, metric in records.items()}


def as_written(keys: dict[str, str], document: dict[str, Any]) -> dict[str, str]:
    """`keys` into what `as_later` made of `document`, as they stand in `document` itself."""
    records = document.get("records")
    if not isinstance(records, dict) or not records:
        return keys
    places = {str(_LATER.get(name, name)): f"records.{name}." for name in records}
    metric = re.compile(rf"\b({'|'.join(map(re.escape, places))})\.")
    return {field: metric.sub(lambda match: places[match[1]], key) for field, key in keys.items()}
