"""The load generator: schedules, records, and a short run against an engine double."""

from __future__ import annotations

import asyncio
import itertools
import json
import math
import statistics
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.balancer.config import BalancerPorts
from sandbox.balancer.endpoints import Endpoint
from sandbox.layout import free_ports
from sandbox.load.__main__ import main
from sandbox.load.play import LoadRun, Target, play, target_from
from sandbox.load.record import RequestRecord, percentile, read_records, summary_of
from sandbox.load.rig import MODEL, rig
from sandbox.load.schedule import arrivals_s, length_s, phases_from, rate_at
from tests.sandbox.addresses import own_network

PHASES = st.lists(st.tuples(st.floats(0.1, 60), st.floats(0, 30)), min_size=1, max_size=4)


@given(PHASES, st.integers())
def test_arrivals_are_ascending_inside_the_schedule_and_repeatable(
    schedule: list[tuple[float, float]], seed: int
) -> None:
    phases = phases_from(schedule)
    times = arrivals_s(phases, seed)
    assert times == sorted(times) == arrivals_s(phases, seed)
    assert all(0 < time < length_s(phases) + 1e-6 for time in times)
    # Not at a border, where rounding decides which phase a moment belongs to.
    assert all(rate_at(phases, time - 1e-6) > 0 or rate_at(phases, time + 1e-6) > 0 for time in times)


def test_a_poisson_process_in_each_phase() -> None:
    phases = phases_from([(600, 5.3), (600, 26.7), (300, 0), (600, 60)])
    times = arrivals_s(phases, 7)
    for begin_s, phase in ((0, phases[0]), (600, phases[1]), (1200, phases[2]), (1500, phases[3])):
        inside = [time for time in times if begin_s <= time < begin_s + phase.seconds]
        expected = phase.seconds * phase.rps
        assert abs(len(inside) - expected) <= 4 * math.sqrt(expected)
        if len(inside) > 2:
            gaps = [late - early for early, late in itertools.pairwise(inside)]
            assert statistics.stdev(gaps) / statistics.mean(gaps) == pytest.approx(1.0, abs=0.1)


def test_the_same_arrivals_as_a_trace_for_aiperf(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl"
    assert main(["--trace", str(file), "--seed", "3", "10:5"]) == 0
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    expected = arrivals_s(phases_from([(10, 5)]), 3)
    assert [line["timestamp"] / 1000 for line in lines] == pytest.approx(expected, abs=1e-3)
    assert {len(line["text_input"].split()) for line in lines} == {1000}
    assert {line["output_length"] for line in lines} == {400}


@pytest.mark.parametrize("schedule", [[], [(0, 5)], [(-1, 5)], [(10, -1)], [(1e6, 1e3)]])
def test_an_impossible_schedule_is_refused(schedule: list[tuple[float, float]]) -> None:
    with pytest.raises(ValueError, match="expected"):
        phases_from(schedule)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1), st.floats(0.1, 100))
def test_percentile(values: list[float], pct: float) -> None:
    found = percentile(values, pct)
    assert found in values
    assert sum(value <= found for value in values) >= len(values) * pct / 100 - 1e-9


def test_percentile_of_nothing() -> None:
    assert math.isnan(percentile([], 95))


@pytest.mark.parametrize("url", ["http://10.0.0.1:80", "http://example.com", "https://127.0.0.1", "127.0.0.1:80"])
def test_only_this_machine_may_be_loaded(url: str) -> None:
    with pytest.raises(ValueError, match="loopback"):
        target_from(url, "m")
    assert main(["--url", url, "--model", "m", "1:1"]) == 2


def test_target_paths() -> None:
    assert target_from("http://localhost:8080", "m").path == "/v1/completions"
    assert target_from("http://127.0.0.1:8080/v1", "m").path == "/v1/completions"
    assert target_from("http://127.0.0.1:8080/ns/bot", "m").path == "/ns/bot/v1/completions"
    assert target_from("http://127.0.0.1:8080", "m", "bot.ns").host_header == "bot.ns"


def test_a_run_through_the_balancer(tmp_path: Path) -> None:
    async def play_it() -> LoadRun:
        async with rig(2, tmp_path / "rig", ports=BalancerPorts(*free_ports(2)), network=own_network()) as running:
            target = replace(target_from(running.url, MODEL), prompt_tokens=10, output_tokens=50)
            return await play(phases_from([(2, 20)]), target, tmp_path / "load.jsonl", seed=5)

    played = asyncio.run(play_it())
    assert played.is_open_loop
    assert len(played.records) == len(arrivals_s(phases_from([(2, 20)]), 5))
    assert not played.summary.failed
    assert played.summary.ttft_p50_s == pytest.approx(0.4513, abs=0.05)
    assert played.summary.tpot_p50_s == pytest.approx(0.018, abs=0.001)
    assert {record.tokens for record in played.records} == {50}
    written = read_records(tmp_path / "load.jsonl")
    assert summary_of(written, 2.0).requests == played.summary.requests
    assert json.loads((tmp_path / "load.summary.json").read_text())["failed"] == 0


def one_second(target: Target) -> list[RequestRecord]:
    return asyncio.run(play(phases_from([(0.5, 10)]), target, None, seed=1)).records


def test_failures_are_named(tmp_path: Path) -> None:
    nobody = Endpoint(f"{own_network()}.9", 8000)
    records = one_second(target_from(f"http://{nobody.address}:{nobody.port}", MODEL))
    assert records
    assert all(record.error.startswith("connect:") and not record.cut for record in records)

    async def behind_envoy() -> list[RequestRecord]:
        async with rig(1, tmp_path, ports=BalancerPorts(*free_ports(2)), network=own_network()) as running:
            unknown = replace(target_from(running.url, "other"), prompt_tokens=1)
            return (await play(phases_from([(0.5, 10)]), unknown, None, seed=1)).records

    assert {record.error for record in asyncio.run(behind_envoy())} == {"http 404"}


def test_a_stopped_run_leaves_its_records(tmp_path: Path) -> None:
    async def play_it() -> None:
        async with rig(1, tmp_path, ports=BalancerPorts(*free_ports(2)), network=own_network()) as running:
            target = target_from(running.url, MODEL)
            playing = asyncio.create_task(play(phases_from([(60, 10)]), target, tmp_path / "l.jsonl", seed=1))
            await asyncio.sleep(1.0)
            playing.cancel()
            await asyncio.gather(playing, return_exceptions=True)

    asyncio.run(play_it())
    assert {record.error for record in read_records(tmp_path / "l.jsonl")} == {"stopped"}


def test_the_engine_double_starts_small_and_fast() -> None:
    """Sixteen of them share two cores with a control plane: nothing but the standard library may be imported."""
    code = "import sys, sandbox.engine.server as s; print(sorted(m for m in sys.modules if '.' not in m))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in ("lightkube", "jinja2", "pydantic", "httpx2"):
        assert f"'{heavy}'" not in loaded
