from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from prescale.windows.timetable import timetable
from stacks.faults import InputError
from stacks.folders import stacks_root
from stacks.loader import load_platform, load_stack
from tests.core.stack_files import LOCAL, Edit, all_of, calendar, stack, swap, write_stack

EVENTS = (LOCAL / "events.yaml").read_text()


def faults(root: Path, *, platform: Edit | None = None, events: Edit | None = None) -> list[str]:
    """Every fault as a person sees it, without the folder."""
    with pytest.raises(InputError) as raised:
        timetable(stack(root, platform=platform, events=events))
    return [str(fault).replace(f"{root}/", "") for fault in raised.value.faults]


def test_an_empty_platform_points_to_a_page_that_is_there(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, platform=lambda _: "", events=calendar())
    page = re.search(r"docs/\S+\.md", fault)
    assert page, fault
    assert (LOCAL.parents[1] / page[0]).is_file(), fault


def test_the_example_is_sound() -> None:
    assert load_stack("local", LOCAL.parent).calendar.events[0].name == "diwali-sale"


@pytest.mark.parametrize(
    ("edit", "where", "fix"),
    [
        (
            swap("replicas: {min: 2, max: 16}", "replicas: {min: 17, max: 16}"),
            "replicas.min: got 17",
            "Raise max to 17",
        ),
        (swap("    gpus_per_replica: 1", "    gpus_per_replica: 3"), "gpus_per_replica: got 3, expected 1", "Set 1"),
        (
            swap("    gpus_per_replica: 1", "    gpus_per_replica: 1\n    colour: red"),
            "colour: got the unknown",
            "Remove",
        ),
        (swap('revision: "3f2c9e1"', "revision: 3190217"), "model.revision: got the number 3190217", "in quotes"),
        (swap('revision: "3f2c9e1"', "revision: 1.10"), "model.revision: got the number 1.10", "in quotes"),
        (swap("node_pool: l40s", "node_pool: h100"), "node_pool: got h100, expected one of", "pool that exists"),
        (
            swap("    gpus_per_replica: 1", "    gpus_per_replica: 1\n    zones: 1"),
            "zones: got 1, expected at least 2",
            "",
        ),
        (swap("max_nodes: 18", "max_nodes: 15"), "replicas.max: got 16, expected at most 15", "raise node_pools.l40s"),
        (
            swap("in_flight_per_replica: 40", "in_flight_per_replica: 65"),
            "in_flight_per_replica: got 65",
            "max_num_seqs",
        ),
        (
            swap("benchmarks/support-8b-l40s.md", "benchmarks/none.md"),
            "capacity.evidence: got benchmarks/none.md",
            "there",
        ),
        (swap("benchmarks/support-8b-l40s.md", "x" * 5000), "capacity.evidence: got xxx", "there"),
        (
            swap("prometheus:", "production: true\nprometheus:"),
            "capacity.kind: got illustrative",
            "Benchmark one replica",
        ),
        (swap("[g6e.2xlarge]", "[g6e.2xlrage]"), "instance_types: got g6e.2xlrage", "gpus_per_node"),
        (swap("  support-bot:", "  8b-bot:"), "services.8b-bot: got '8b-bot', expected a lower-case letter", "Correct"),
        (swap("engine_start_s: 180", "engine_start_s: 99999999999"), "engine_start_s: got 99999999999", "Correct"),
        (swap("stream_s: 180", "stream_s: 99999999999"), "longest_stream_s: got 99999999999", "Correct"),
        (swap("max_num_seqs: 64", "max_num_seqs: 99999999999"), "max_num_seqs: got 99999999999", "Correct"),
        (swap("max_nodes: 18", "max_nodes: 99999999999"), "max_nodes: got 99999999999", "Correct"),
        (swap("[g6e.2xlarge]", "[x]\n    gpus_per_node: 99999999999"), "gpus_per_node: got 99999999999", "Correct"),
    ],
)
def test_platform_faults(tmp_path: Path, edit: Edit, where: str, fix: str) -> None:
    found = faults(tmp_path, platform=edit)
    assert len(found) == 1
    assert found[0].startswith("local/platform.yaml:")
    assert where in found[0]
    assert fix in found[0]


@pytest.mark.parametrize(
    ("make", "got"),
    [
        (lambda path: path.symlink_to("/dev/zero"), "no regular file"),
        (os.mkfifo, "no regular file"),
        (lambda path: path.mkdir(), "is a directory"),
        (lambda path: path.symlink_to(path), "too many levels of symbolic links"),
        (lambda path: path.write_text("events: []\n" + "#\n" * 2**20), "more than 1 MiB"),
    ],
)
def test_a_file_that_never_ends_or_is_no_persons(tmp_path: Path, make: Callable[[Path], object], got: str) -> None:
    path = write_stack(tmp_path) / "events.yaml"
    path.unlink()
    make(path)
    with pytest.raises(InputError, match=f"events.yaml: got {got}"):
        load_stack("local", tmp_path)


@pytest.mark.parametrize("name", ["my stack", "a,b", "-a", "a" * 64])
def test_a_stacks_name_is_a_labels_value(tmp_path: Path, name: str) -> None:
    write_stack(tmp_path).rename(tmp_path / name)
    with pytest.raises(InputError, match=r"got the stack name .*Rename the folder"):
        load_platform(name, tmp_path)


def test_eight_gpu_node_names_what_it_can_hold(tmp_path: Path) -> None:
    edit = all_of(swap("[g6e.2xlarge]", "[p5.48xlarge]"), swap("    gpus_per_replica: 1", "    gpus_per_replica: 3"))
    assert "got 3, expected 1, 2, 4 or 8 (p5.48xlarge has 8). Set 2" in faults(tmp_path, platform=edit)[0]


def test_zones_need_a_node_each(tmp_path: Path) -> None:
    edit = all_of(
        swap("replicas: {min: 2, max: 16}", "replicas: {min: 2, max: 2}\n    zones: 3"),
        swap("max_nodes: 18", "max_nodes: 2"),
    )
    (fault,) = faults(tmp_path, platform=edit, events=calendar())
    assert "zones: got 3, expected at most 2, the nodes that node pool l40s may have. Lower zones, or raise" in fault


class TestAllInOneGo:
    def test_unknown_field_does_not_hide_a_misfit(self, tmp_path: Path) -> None:
        edit = all_of(
            swap("    gpus_per_replica: 1", "    gpus_per_replica: 3\n    colour: red"),
            swap("evidence: benchmarks/support-8b-l40s.md", "evidence: none.md"),
        )
        found = faults(tmp_path, platform=edit, events=swap("timezone: Asia/Kolkata", "timezone: IST"))
        assert [re.sub(r":\d+: | got.*", " ", text).strip() for text in found] == [
            "local/events.yaml timezone:",
            "local/platform.yaml services.support-bot.gpus_per_replica:",
            "local/platform.yaml services.support-bot.colour:",
            "local/platform.yaml services.support-bot.capacity.evidence:",
        ]

    def test_a_faulty_service_does_not_hide_another(self, tmp_path: Path) -> None:
        def second(text: str) -> str:
            head, service = text.split("  support-bot:\n")
            other = service.replace("gpus_per_replica: 1", "gpus_per_replica: 3")
            bad = service.replace("longest_stream_s: 180", "longest_stream_s: 0")
            return f"{head}  support-bot:\n{bad}\n  search-bot:\n{other}"

        found = faults(tmp_path, platform=second)
        assert ["longest_stream_s" in found[0], "search-bot.gpus_per_replica" in found[1]] == [True, True]
        assert len(found) == 2

    def test_a_faulty_pool_is_one_fault(self, tmp_path: Path) -> None:
        assert len(faults(tmp_path, platform=swap("max_nodes: 18", "max_nodes: none"))) == 1

    def test_a_faulty_event_does_not_hide_a_gap_in_another(self, tmp_path: Path) -> None:
        events = calendar(
            "name: a, start: today, end: 2026-03-08 04:00, SERVICES",
            "name: b, start: 2026-03-08 02:30, end: 2026-03-08 04:00, SERVICES",
            timezone="America/New_York",
        )
        found = faults(tmp_path, events=events)
        assert [text.split(" got")[0] for text in found] == [
            "local/events.yaml:4: events[0].start:",
            "local/events.yaml:5: events[1].start:",
        ]


@pytest.mark.parametrize(
    ("edit", "where", "fix"),
    [
        (lambda _: "", "events.yaml:1: got an empty file", "`events: []`"),
        (lambda _: "# nothing\n", "events.yaml:1: got an empty file", "`events: []`"),
        (lambda _: "- a\n", "got a list, expected a mapping", "`events: []`"),
        (lambda _: "timezone: UTC\n", "events: got nothing", "Add the field"),
        (lambda _: "timezone: UTC\nevents:\n", "events: got nothing, expected a list", "Correct"),
        (lambda text: text[:-30], "got expected ',' or '}'", "cut short"),
        (
            swap("timezone: Asia/Kolkata", "timezone: IST"),
            "timezone: got IST, expected an IANA zone",
            "not the abbreviation",
        ),
        (swap("timezone: Asia/Kolkata", "timezone: EST"), "timezone: got EST", "not the abbreviation"),
        (swap("timezone: Asia/Kolkata", "timezone: Asia/Kolkatta"), "timezone: got Asia/Kolkatta", "spelling"),
        (
            swap("timezone: Asia/Kolkata", "timezone: Asia/Kolkata\ntimezone: UTC"),
            "timezone: got the key a second",
            "Keep one",
        ),
        (swap("2027-10-30 00:30", "2027-10-29 00:30"), "events[0].end: got 2027-10-29 00:30", "next date"),
        (swap("2027-10-30 00:30", "2027-10-29 20:00"), "events[0].end: got 2027-10-29 20:00", "next date"),
        (swap("2027-10-29 20:00", "2027-10-29 25:00"), "events[0].start: got 2027-10-29 25:00", "Correct the date"),
        (swap("2027-10-29 20:00", "2027-10-29"), "expected a date and time, as 2027-10-29 20:00", "Correct"),
        (swap("2027-10-29 20:00", "0001-01-01 00:00"), "expected a year from 2000 to 2199", "Correct the date"),
        (
            swap("ready_margin_s: 1500", f"ready_margin_s: {10**9}"),
            "ready_margin_s: got 1000000000, expected at most",
            "Correct",
        ),
        (swap("rps: 26.7", "rps: 267"), "services.support-bot: got a floor of 68 replicas", "Raise replicas.max to 68"),
        (swap("rps: 26.7", "rps: -1"), "rps: got -1, expected above 0", "Correct"),
        (swap("rps: 26.7", "rps: 1e999999999"), "rps: got '1e999999999', expected a number", "Correct"),
        (swap("rps: 26.7", f"rps: {'9' * 5000}"), "rps: got '999", "Correct"),
        (
            swap("rps: 26.7", "rps: 26.7, multiplier: 5"),
            "support-bot: got rps and multiplier, expected one of",
            "Keep one",
        ),
        (
            swap("rps: 26.7,", ""),
            "support-bot: got no load, expected one of rps, multiplier, in_flight,",
            "Say the load",
        ),
        (
            swap("support-bot:", "sales-bot:"),
            "services.sales-bot: got sales-bot, expected a service of",
            "Correct the name",
        ),
        (
            swap("name: diwali-sale", "1: diwali-sale\n    name: diwali-sale"),
            "events[0].1: got the unknown field 1",
            "Remove",
        ),
    ],
)
def test_calendar_faults(tmp_path: Path, edit: Edit, where: str, fix: str) -> None:
    found = faults(tmp_path, events=edit)
    assert len(found) == 1
    assert found[0].startswith("local/events.yaml:")
    assert where in found[0]
    assert fix in found[0]


def test_missing_calendar(tmp_path: Path) -> None:
    (write_stack(tmp_path) / "events.yaml").unlink()
    with pytest.raises(InputError, match=r"events.yaml: got no such file.*Restore"):
        load_stack("local", tmp_path)


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (write_stack(tmp_path) / "events.yaml").write_bytes(EVENTS.encode("utf-16"))
    with pytest.raises(InputError, match="not UTF-8"):
        load_stack("local", tmp_path)


def test_no_events_is_a_calendar(tmp_path: Path) -> None:
    assert stack(tmp_path, events=lambda _: "timezone: UTC\nevents: []").calendar.events == ()


def test_the_same_name_twice(tmp_path: Path) -> None:
    one = "name: a, start: 2027-10-29 20:00, end: 2027-10-29 22:00, SERVICES"
    assert "events[1].name: got a a second time" in faults(tmp_path, events=calendar(one, one))[0]


class TestDaylightSaving:
    def gap(self, tmp_path: Path, start: str) -> str:
        event = f"name: a, start: '{start}', end: 2026-11-02 04:00, SERVICES"
        return faults(tmp_path, events=calendar(event, timezone="America/New_York"))[0]

    def test_a_time_that_does_not_exist(self, tmp_path: Path) -> None:
        text = self.gap(tmp_path, "2026-03-08 02:30")
        assert "events[0].start: got 2026-03-08 02:30, expected a time that exists in America/New_York" in text

    def test_a_time_that_exists_twice(self, tmp_path: Path) -> None:
        text = self.gap(tmp_path, "2026-11-01 01:30")
        assert "Write 2026-11-01 01:30-04:00 for the first or 2026-11-01 01:30-05:00 for the second." in text

    @pytest.mark.parametrize(("offset", "utc"), [("-04:00", "05:30"), ("-05:00", "06:30")])
    def test_each_of_the_two(self, tmp_path: Path, offset: str, utc: str) -> None:
        event = f"name: a, start: '2026-11-01 01:30{offset}', end: 2026-11-01 04:00, SERVICES"
        start = stack(tmp_path, events=calendar(event, timezone="America/New_York")).calendar.events[0].start
        assert start.to_instant().format_iso() == f"2026-11-01T{utc}:00Z"

    def test_an_offset_the_zone_does_not_have_then(self, tmp_path: Path) -> None:
        assert "expected an offset that America/New_York has then" in self.gap(tmp_path, "2026-11-01 03:30-04:00")


@pytest.mark.parametrize("name", ["nowhere", "", "../local", "/etc"])
def test_unknown_stack(name: str) -> None:
    with pytest.raises(InputError, match="expected one of local"):
        load_platform(name, LOCAL.parent)


def test_stacks_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WARMLINE_STACKS_DIR", raising=False)
    (tmp_path / "Pulumi.yaml").touch()
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert stacks_root(tmp_path / "a" / "b") == tmp_path / "stacks"
    monkeypatch.setenv("WARMLINE_STACKS_DIR", "/elsewhere")
    assert stacks_root(tmp_path) == Path("/elsewhere")


MUTATIONS = st.lists(
    st.tuples(
        st.integers(0, len(EVENTS)),
        st.integers(0, 8),
        st.text(st.sampled_from(" \n:{}[]-'\"#&*!|>%@`~0123456789eE.aZ\t"), max_size=6),
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(MUTATIONS)
def test_a_mutated_calendar_is_read_or_refused(tmp_path: Path, mutations: list[tuple[int, int, str]]) -> None:
    text = EVENTS
    for place, length, new in mutations:
        text = text[:place] + new + text[place + length :]
    folder = tmp_path / "local"
    if not folder.exists():
        write_stack(tmp_path)
    (folder / "events.yaml").write_text(text)
    with suppress(InputError):
        timetable(load_stack("local", tmp_path))


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(EVENTS) - 2))
def test_a_calendar_cut_short_is_refused_wherever_it_is_cut(tmp_path: Path, length: int) -> None:
    folder = write_stack(tmp_path)
    (folder / "events.yaml").write_text(EVENTS[:length])
    with pytest.raises(InputError):
        load_stack("local", tmp_path)


def test_a_number_cut_short_is_refused(tmp_path: Path) -> None:
    block = "    services:\n      support-bot:\n        request_duration_s: 7.8\n        rps: 26.7\n"
    whole = EVENTS[: EVENTS.index("    services:")] + block
    assert stack(tmp_path, events=lambda _: whole).calendar.events
    for cut in range(1, 4):
        assert "a file that is not cut short" in faults(tmp_path, events=lambda _, cut=cut: whole[:-cut])[0]  # type: ignore[misc]


@pytest.mark.parametrize("share", ["0.3", ".25", "0.999"])
def test_a_share_where_percent_is_meant_is_refused(tmp_path: Path, share: str) -> None:
    (fault,) = faults(tmp_path, events=swap("headroom_pct: 30", f"headroom_pct: {share}"))
    assert "headroom_pct: got 0." in fault
    assert "expected percent" in fault


def test_the_fix_for_a_share_is_the_percent(tmp_path: Path) -> None:
    (fault,) = faults(tmp_path, events=swap("headroom_pct: 30", "headroom_pct: 0.3"))
    assert fault.endswith("Write 30 for the share 0.3.")
