"""`prescale sync` by a brief that an earlier run has kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from whenever import Instant

from cli.main import warmline
from prescale import clock
from prescale.api import cluster as clustering
from prescale.briefs import keeping
from stacks import loader
from tests.cli.stack_folder import edit
from tests.core.api_double import ApiDouble
from tests.core.cluster_double import scaled_object

BEFORE = Instant.parse_iso("2027-10-29T13:55:00Z")


@pytest.fixture
def api(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> ApiDouble:
    double = ApiDouble(scaled_object())
    monkeypatch.setattr(clustering.Cluster, "of", lambda *_: double.cluster())
    return double


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The stacks whose files were read."""
    whole, seen = loader.load_stack, []

    def load_stack(stack: str) -> loader.Stack:
        seen.append(stack)
        return whole(stack)

    monkeypatch.setattr(loader, "load_stack", load_stack)
    return seen


def sync(monkeypatch: pytest.MonkeyPatch, now: Instant, *options: str) -> Result:
    monkeypatch.setattr(clock, "now", lambda: now)
    return CliRunner().invoke(warmline, ["prescale", "sync", "-s", "local", *options])


def test_the_second_run_reads_no_file_and_raises_in_time(
    api: ApiDouble, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = sync(monkeypatch, BEFORE)
    assert first.exit_code == 0, first.output
    assert (reads, api.minimum()) == (["local"], 2)
    again = sync(monkeypatch, BEFORE.add(minutes=1))
    assert again.stdout == (
        "support-bot: minReplicaCount stays 2 (the baseline); "
        "next 7 for diwali-sale at 2027-10-29 19:30 Asia/Kolkata (14:00Z)\n"
    )
    assert reads == ["local"]
    sync(monkeypatch, BEFORE.add(minutes=6))
    assert api.minimum() == 7
    assert reads == ["local"] * 2, "and then all of it, to look at the pods"


def test_a_calendar_that_was_spoiled_since_is_bad_input(
    stacks: Path, api: ApiDouble, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(monkeypatch, BEFORE)
    edit(stacks / "events.yaml", "rps: 26.7", "rps: many")
    spoiled = sync(monkeypatch, BEFORE.add(minutes=6))
    assert spoiled.exit_code == 2
    assert "events[0].services.support-bot.rps" in spoiled.stderr
    assert api.minimum() == 2


def test_a_calendar_that_was_changed_since_counts_at_once(
    stacks: Path, api: ApiDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync(monkeypatch, BEFORE)
    edit(stacks / "events.yaml", "rps: 26.7", "rps: 53.4")
    sync(monkeypatch, BEFORE.add(minutes=6))
    assert api.minimum() == 14


def test_another_time_is_played_from_the_files(
    api: ApiDouble, reads: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        played = sync(monkeypatch, BEFORE, "--dry-run", "--at", "2027-10-29 19:40")
        assert "would be patched: 2 -> 7" in played.stdout
    assert reads == ["local"] * 2
    assert not keeping.place().exists()
