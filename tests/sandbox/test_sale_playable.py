"""What the demo and the comparison cannot play is refused in plain words, and nothing is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from cli.main import warmline
from sandbox.sale import demo
from sandbox.sale.rehearsal import rehearse
from stacks.faults import InputError
from stacks.loader import load_calendar_spec
from tests.core.stack_files import Edit, stack, swap, write_stack

TIMES = "    start: 2027-10-29 20:00\n    end: 2027-10-30 00:30\n"
LOAD = "{rps: 26.7, request_duration_s: 7.8, headroom_pct: 30}"
USUAL = "    usual_load: {rps: 5.3, request_duration_s: 7.8}\n"
ADOPTED = "    adopted: {kind: ScaledObject, name: x, pod_labels: {a: b}}\n"
NONE = "timezone: UTC\nevents: []\n"
ICS = "calendars: [{file: sales.ics, events: [{services: {support-bot: {replicas: 5}}}]}]\n"


def at_its_times(more: str) -> Edit:
    return swap(TIMES, f"{TIMES}    {more}\n")


EVENTS: dict[str, tuple[Edit, str]] = {
    "repeats": (
        at_its_times("repeat: {rule: FREQ=WEEKLY}"),
        "events.yaml:8: events[0].repeat: got an event that repeats, expected one that happens once: it is played ",
    ),
    "holiday": (
        swap(TIMES, "    holiday: {country: IN, name: Diwali}\n"),
        "events.yaml:6: events[0].holiday: got an event on a holiday of every year, expected one that happens once",
    ),
    "cancelled": (
        at_its_times("cancelled: true"),
        "events.yaml:8: events[0].cancelled: got true, expected an event that raises something. Take `cancelled` out",
    ),
    "no event": (lambda _: NONE, "events.yaml:2: events: got no event, expected one to play. Write the one to be "),
    "ics": (lambda _: NONE + ICS, "events.yaml:2: events: got events of .ics files only, expected one to play. Write "),
    "uneven ramp": (
        at_its_times("ramp: {steps: 4, over_s: 1210}"),
        "events.yaml:8: events[0].ramp.over_s: got 1210 s, expected a multiple of the time scale 20. Choose another",
    ),
    "short ramp": (
        at_its_times("ramp: {steps: 4, over_s: 600}"),
        "got 600 s, expected at least 1200 s, of which the time scale 20 leaves 60. Choose another --time-scale.",
    ),
    "no arrivals": (
        swap(LOAD, "{replicas: 7}"),
        "support-bot.replicas: got a load in replicas, expected arrivals to play. Give it multiplier or rps.",
    ),
}
PLATFORMS: dict[str, tuple[Edit, str]] = {
    "no usual load": (
        swap(USUAL, ""),
        "got a service without usual_load, expected the load that is played before and after the event.",
    ),
    "adopted": (
        swap(USUAL, ADOPTED + USUAL),
        "got a service that others built, expected one that can be built anew. Put another service first",
    ),
    "duration": (
        swap("weights_s: 120", "weights_s: 125"),
        "platform.yaml:38: services.support-bot.cold_start.weights_s: got 125 s, expected a multiple of the time ",
    ),
}


@pytest.mark.parametrize(("command", "folder"), [("demo", "--out"), ("bench-event", "--work")])
@pytest.mark.parametrize("what", EVENTS | PLATFORMS)
def test_before_anything_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, folder: str, what: str
) -> None:
    edit, says = (EVENTS | PLATFORMS)[what]
    stack_folder = write_stack(tmp_path, **{"events" if what in EVENTS else "platform": edit})
    (stack_folder / "sales.ics").write_text("BEGIN:VCALENDAR\nVERSION:2.0\nPRODID:x\nEND:VCALENDAR\n")
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(tmp_path))
    monkeypatch.setattr(demo, "Commands", None)  # what runs a command, or builds a cluster, would fail
    monkeypatch.setattr(demo, "for_stack", None)
    result = CliRunner().invoke(warmline, ["sandbox", command, folder, str(tmp_path / "out")])
    assert result.exit_code == 2, result.exception
    assert says in result.stderr
    assert not (tmp_path / "out").exists()


def test_all_that_is_in_the_way_is_said_at_once(tmp_path: Path) -> None:
    real = stack(tmp_path, events=at_its_times("repeat: {rule: FREQ=WEEKLY}\n    cancelled: true"))
    with pytest.raises(InputError) as refused:
        rehearse(real, load_calendar_spec("local", tmp_path), tmp_path / "rehearsed", 7, "http://127.0.0.1:1")
    assert {fault.path.rpartition(".")[2] for fault in refused.value.faults} == {
        *("repeat", "cancelled", "ready_margin_s"),
        *("weights_s", "engine_start_s", "window_s", "period_s"),
    }
    assert not (tmp_path / "rehearsed").exists()
