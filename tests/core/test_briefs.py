"""What runs go by, kept from one to the next: the same as if the files had been read, or not used."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from whenever import Instant

from prescale.briefs import keeping
from prescale.briefs.brief import Brief
from prescale.briefs.making import brief_of
from stacks.loader import Stack, load_stack
from tests.core.stack_files import LOCAL, all_of, calendar, stack, swap

NOW = Instant.from_utc(2027, 10, 29, 8)
EVENTS = calendar(
    "name: sale, start: 2027-10-29 20:00, end: 2027-10-30 00:30, owner: shop, priority: 7, SERVICES",
    "name: soon, start: 2027-10-30 01:02, end: 2027-10-30 02:00, SERVICES",
    "name: slow, start: 2027-10-31 20:00, end: 2027-10-31 21:00, ramp: {steps: 4, over_s: 3600}, SERVICES",
    "name: off, start: 2027-11-01 20:00, end: 2027-11-01 21:00, cancelled: true, SERVICES",
    "name: daily, start: 2027-10-01 10:00, end: 2027-10-01 11:00, repeat: {rule: FREQ=DAILY}, "
    "cancelled_on: ['2027-11-03'], services: {support-bot: {multiplier: 1.7}}",
    "name: many, start: 2027-11-04 20:00, end: 2027-11-04 21:00, services: {support-bot: {tokens_per_s: 12000.5}}",
    "name: few, start: 2027-11-05 20:00, end: 2027-11-05 21:00, services: {support-bot: {replicas: 3}}",
)
PLATFORM = all_of(
    swap("in_flight_per_replica: 40 ", "in_flight_per_replica: 40\n      tokens_per_s_per_replica: 1234.5 "),
    swap("engine_start_s: 180}", "engine_start_s: 180, measured: replaces}"),
)


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "warmline" / "briefs"


@pytest.fixture
def loaded(tmp_path: Path) -> Stack:
    return stack(tmp_path / "stacks", platform=PLATFORM, events=EVENTS)


def keep(loaded: Stack, now: Instant = NOW) -> Brief:
    brief = brief_of(loaded, now)
    keeping.keep(loaded, brief, now)
    return brief


def later(seconds: float) -> Instant:
    return NOW.add(seconds=seconds)


def test_it_is_what_was_made_of_the_files(loaded: Stack) -> None:
    brief = keep(loaded)
    found = keeping.recall(loaded.folder, later(60))
    assert found == brief
    assert found is not brief
    units = {window.load.unit for window in brief.table.windows}
    assert units == {"rps", "multiplier", "tokens_per_s", "replicas"}
    assert any(window.holds for window in brief.table.windows)
    assert any(window.rises for window in brief.table.windows)


def test_without_one_there_is_none(loaded: Stack) -> None:
    assert keeping.recall(loaded.folder, NOW) is None


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("events.yaml", lambda path: path.write_text(path.read_text().replace("26.7", "26.8", 1))),
        ("platform.yaml", lambda path: path.write_text(path.read_text() + "# seen\n")),
        ("events.yaml", lambda path: path.write_text(path.read_text()[:-30])),
        ("events.yaml", lambda path: path.unlink()),
        ("platform.yaml", lambda path: path.write_bytes(b"\xff")),
    ],
)
def test_another_text_is_read_anew(loaded: Stack, name: str, change: Callable[[Path], None]) -> None:
    keep(loaded)
    change(loaded.folder / name)
    assert keeping.recall(loaded.folder, later(60)) is None


def test_a_text_that_came_back_is_the_same(loaded: Stack) -> None:
    brief = keep(loaded)
    text = (loaded.folder / "events.yaml").read_text()
    for said in ("events: []\n", text):
        (loaded.folder / "events.yaml").write_text(said)
    assert keeping.recall(loaded.folder, later(60)) == brief


def test_the_files_beside_events_yaml_count_as_well(tmp_path: Path) -> None:
    folder = tmp_path / "stacks" / "local"
    stack(tmp_path / "stacks")
    times = ["DTSTAMP:20270101T000000Z", "DTSTART:20271029T143000Z", "DTEND:20271029T190000Z"]
    entry = ["BEGIN:VEVENT", "UID:1@x", *times, "SUMMARY:Sale", "END:VEVENT"]
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", "PRODID:x", *entry, "END:VCALENDAR", ""]
    (folder / "sales.ics").write_text("\r\n".join(lines))
    row = "{match: {summary: Sale}, services: {support-bot: {replicas: 5}}}"
    (folder / "events.yaml").write_text(
        f"timezone: Asia/Kolkata\nevents: []\ncalendars:\n  - file: sales.ics\n    events: [{row}]\n"
    )
    brief = keep(load_stack("local", tmp_path / "stacks"))
    assert [window.floor for window in brief.table.windows] == [5]
    assert keeping.recall(folder, later(60)) == brief
    (folder / "sales.ics").write_text("\r\n".join(lines).replace("T143000Z", "T133000Z"))
    assert keeping.recall(folder, later(60)) is None


def test_a_stack_named_from_here_is_found_from_there(
    loaded: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    brief = keep(load_stack("local", Path("stacks")))
    monkeypatch.chdir("/")
    assert keeping.recall(loaded.folder, later(1)) == brief


def test_evidence_that_is_gone_is_found_missing(loaded: Stack) -> None:
    keep(loaded)
    evidence = loaded.platform.services["support-bot"].capacity.evidence
    (loaded.folder / evidence).rename(loaded.folder / "elsewhere")
    assert keeping.recall(loaded.folder, later(60)) is None


@pytest.mark.parametrize(("seconds", "is_used"), [(-1, False), (0, True), (899, True), (900, False)])
def test_it_is_used_for_a_quarter_of_an_hour(loaded: Stack, seconds: float, *, is_used: bool) -> None:
    keep(loaded)
    assert (keeping.recall(loaded.folder, later(seconds)) is not None) == is_used


def test_another_day_of_the_calendar_is_another_brief(loaded: Stack) -> None:
    midnight = Instant.parse_iso("2027-10-30T00:00:00+05:30")
    keep(loaded, midnight.subtract(seconds=60))
    assert keeping.recall(loaded.folder, midnight.subtract(seconds=1))
    assert keeping.recall(loaded.folder, midnight) is None


def test_other_code_makes_its_own(loaded: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = tmp_path / "code" / "inner"
    code.mkdir(parents=True)
    for folder in (code.parent, code):
        (folder / "__init__.py").touch()
    (code / "module.py").write_text("a = 1\n")
    monkeypatch.setattr(keeping, "_SOURCES", [code.parent])
    keep(loaded)
    assert keeping.recall(loaded.folder, later(1))
    (code / "module.pyc").write_text("compiled\n")
    (code.parent / "prod").mkdir()
    (code.parent / "prod" / "not_ours.py").touch()
    assert keeping.recall(loaded.folder, later(1))
    os.utime(code / "module.py", (1, 1))
    assert keeping.recall(loaded.folder, later(1)) is None


def test_a_module_that_goes_meanwhile_or_an_editors_lock_stops_no_run(
    loaded: Stack, kept: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = tmp_path / "code"
    code.mkdir()
    (code / "__init__.py").touch()
    monkeypatch.setattr(keeping, "_SOURCES", [code])
    keep(loaded)
    assert keeping.recall(loaded.folder, later(1))
    (code / ".#module.py").symlink_to("alice@laptop.4711")
    assert keeping.recall(loaded.folder, later(1)) is None
    keep(loaded)
    shutil.rmtree(code)
    assert keeping.recall(loaded.folder, later(1)) is None
    keep(loaded)


def test_every_rule_that_a_brief_comes_from_is_watched() -> None:
    names = {Path(entry.path).name for folder in keeping._SOURCES for entry in keeping._modules(folder)}
    assert {"timetable.py", "replicas.py", "repeated.py", "spec.py", "brief.py"} <= names


@given(data=st.data())
def test_a_damaged_one_is_none(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        loaded = load_stack("local", LOCAL.parent)
        brief = keep(loaded)
        (file,) = keeping.place().iterdir()
        text = file.read_bytes()
        place = data.draw(st.integers(0, len(text) - 1))
        cut = data.draw(st.sampled_from([text[:place], text[:place] + b"\x00" + text[place + 1 :], b"{}", b"[]"]))
        file.write_bytes(cut)
        assert cut == text or keeping.recall(loaded.folder, later(1)) is None
        file.write_bytes(text)
        assert keeping.recall(loaded.folder, later(1)) == brief


def test_a_number_that_is_none_is_none(loaded: Stack, kept: Path) -> None:
    keep(loaded)
    (file,) = kept.iterdir()
    text = file.read_text()
    assert re.search(r'"replicas":\[\d+,\d+\]', text)
    for number in ("[1,0]", "[1]", "[]", "1", '"a"', '["a","b"]', "[1.5,2]"):
        file.write_text(re.sub(r'"replicas":\[\d+,\d+\]', f'"replicas":{number}', text))
        assert keeping.recall(loaded.folder, later(1)) is None, number


def test_what_others_could_have_written_is_not_believed(loaded: Stack, kept: Path) -> None:
    keep(loaded)
    (file,) = kept.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert kept.stat().st_mode & 0o777 == 0o700
    for mode in (0o620, 0o602):
        file.chmod(mode)
        assert keeping.recall(loaded.folder, later(1)) is None
    file.chmod(0o600)
    assert keeping.recall(loaded.folder, later(1))


def test_another_users_is_not_believed(loaded: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(loaded)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert keeping.recall(loaded.folder, later(1)) is None


def test_where_nothing_can_be_kept_nothing_is_said(loaded: Stack, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.parent.mkdir(parents=True)
    kept.write_text("a file where the folder would be")
    keep(loaded)
    assert keeping.recall(loaded.folder, later(1)) is None
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", _no_home)
    keep(loaded)
    assert keeping.recall(loaded.folder, later(1)) is None


def _no_home() -> Path:
    raise RuntimeError("no home")


def test_those_of_stacks_that_are_gone_are_forgotten(loaded: Stack, kept: Path) -> None:
    kept.mkdir(parents=True)
    for name, age_s in (("old.json", 86500), ("young.json", 86300)):
        (kept / name).write_text("{}")
        os.utime(kept / name, (time.time() - age_s,) * 2)
    keep(loaded)
    assert not (kept / "old.json").exists()
    assert (kept / "young.json").exists()


@given(st.integers(-40 * 86400, 10 * 86400), st.integers(0, 899))
def test_within_its_time_it_asks_for_the_same_as_one_made_then(seconds: int, after_s: int) -> None:
    """What is decided later by an earlier brief is what one of that very moment would decide."""
    loaded = load_stack("local", LOCAL.parent)
    made, now = Instant.from_utc(2027, 10, 29, 14, 30).add(seconds=seconds), after_s
    then = made.add(seconds=now)
    earlier, fresh = brief_of(loaded, made), brief_of(loaded, then)
    for service in earlier.services:
        assert earlier.table.floor_at(then, service, 2) == fresh.table.floor_at(then, service, 2)
    assert earlier.depends_on_starts(then) == fresh.depends_on_starts(then)
