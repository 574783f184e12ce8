"""KEDA's cron scaler beside the timetable, on what `make bench-reliability` recorded of KEDA's own code."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from sandbox.places import REPOSITORY
from sandbox.reliability import cron
from sandbox.reliability.intents import INTENTS, Intent
from sandbox.toolchain.tools import tool_named

RECORDED: dict[str, Any] = json.loads((REPOSITORY / "docs" / "benchmarks" / "reliability.json").read_text())["cron"]
CASES = {case["what"]: case for case in RECORDED["cases"]}


def test_the_recording_is_of_the_keda_that_the_sandbox_runs() -> None:
    assert RECORDED["keda"] == tool_named(cron.TOOL).version == tool_named("keda-operator").version
    assert list(CASES) == [intent.what for intent in INTENTS]


@pytest.mark.parametrize("intent", INTENTS, ids=lambda intent: str(intent.what))
def test_the_timetable_has_what_is_meant_and_differs_from_keda_where_the_page_says(
    intent: Intent, tmp_path: Path
) -> None:
    ours = cron.warmlines(intent, tmp_path)
    assert ours == cron.meant(intent)
    case = CASES[intent.what]
    keda = [(start, end) for start, end in case["keda"]]
    assert json.loads(json.dumps(cron.compared(intent, keda, ours))) == case


def test_a_window_of_weekdays_is_no_weekend_of_replicas() -> None:
    """Source: kedacore/keda issue 4677: from Friday 06:30 to Sunday 22:10."""
    case = CASES["Monday to Friday, 06:30 to 22:10"]
    saturday_noon = int(datetime.fromisoformat("2027-03-20T12:00-04:00").timestamp())
    assert any(start <= saturday_noon < end for start, end in case["keda"])
    assert not any(start <= saturday_noon < end for start, end in case["warmline"])


def test_minutes_of_one_side_alone_are_counted_once_and_told_in_the_zone() -> None:
    intent = INTENTS[4]
    ((start, end),) = cron.meant(intent)
    row = cron.compared(intent, [(start + 60, end + 120)], [(start, end)])
    assert (row["only_keda_min"], row["only_warmline_min"]) == (2, 1)
    assert row["only_warmline"] == ["Fri 2026-11-27 19:30-0500 to Fri 2026-11-27 19:31-0500"]
