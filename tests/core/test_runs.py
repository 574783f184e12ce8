"""What a run leaves: the log line, the metrics' text, and the file that is whole or not there."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prescale.outcome import Outcome
from prescale.runs import log_line, whole_file
from prescale.runs.exposition import FLOOR_UNTIL, GAUGES, LAST_SUCCESS, Before, exposition, read
from prescale.runs.report import RunReport, ServiceReport, service_reports
from prescale.windows.window import Timetable
from tests.core.decision_cases import HERE, HOUR, at, window

SERVICE = ServiceReport(
    "support-bot", 2, 7, 5, 4, at(0), at(0), at(4 * HOUR), ("sale",), ("the floor is not in force",)
)
REPORT = RunReport("prod", at(-60), 1.25, 1, HERE, "serving", 3, (SERVICE,), (), at(-60))
FAILED = RunReport("prod", at(60), 30.0, 3, errors=("https://api:6443: out of reach",))


def test_the_reports_of_a_run() -> None:
    planned = Timetable(HERE, (window(), window("later", 9, 8 * HOUR, 9 * HOUR, 10 * HOUR)))
    outcomes = [
        Outcome("support-bot", 2, 7, events=("sale",), wanted=7, until=at(4 * HOUR), hpa="h", hpa_min=7),
        Outcome("new-bot", None, None, findings=("no ScaledObject",)),
    ]
    served, missing = service_reports(planned, {"support-bot": 2, "new-bot": 3}, outcomes, at(60), {"support-bot": 6})
    assert served == ServiceReport("support-bot", 2, 7, 7, 6, at(9 * HOUR), at(0), at(4 * HOUR), ("sale",)), (
        "the event that runs has started; the next one's T0 counts"
    )
    assert (missing.floor_wanted, missing.floor_in_force, missing.ready) == (3, None, 0)


def test_a_cancelled_event_does_not_start() -> None:
    planned = Timetable(HERE, (window(cancelled=True),))
    (one,) = service_reports(planned, {}, [Outcome("support-bot", 2, 2, wanted=2)], at(-HOUR))
    assert (one.starts_at, one.baseline, one.ready) == (None, None, None)


class TestLogLine:
    def test_of_a_run_with_a_finding(self) -> None:
        line = log_line.log_line(REPORT)
        assert line.endswith("\n")
        assert json.loads(line) == {
            "time": "2027-10-29T14:29:00Z",
            "level": "warning",
            "stack": "prod",
            "calendar": HERE,
            "namespace": "serving",
            "exit_code": 1,
            "duration_s": 1.25,
            "api_calls": 3,
            "last_success": "2027-10-29T14:29:00Z",
            "services": [
                {
                    "service": "support-bot",
                    "floor_wanted": 7,
                    "floor_in_force": 5,
                    "ready": 4,
                    "seconds_to_start": 60,
                    "floor_until": "2027-10-29T18:30:00Z",
                    "events": ["sale"],
                }
            ],
            "findings": ["support-bot: the floor is not in force"],
        }

    def test_of_a_run_that_failed(self) -> None:
        data = json.loads(log_line.log_line(FAILED))
        assert (data["level"], data["exit_code"], data["services"]) == ("error", 3, [])
        assert data["findings"] == ["https://api:6443: out of reach"]

    @given(st.text())
    def test_is_one_line_whatever_is_found(self, text: str) -> None:
        line = log_line.log_line(replace(FAILED, errors=(text,)))
        assert line.count("\n") == 1
        assert json.loads(line)["findings"] == [text]

    def test_lines_are_added(self, tmp_path: Path) -> None:
        path = tmp_path / "runs.jsonl"
        log_line.append(path, "a\n")
        log_line.append(path, "b\n")
        assert path.read_text() == "a\nb\n"


def samples(text: str) -> Iterator[tuple[str, dict[str, str], float]]:
    """Every sample of a text in Prometheus' format, its labels unescaped."""
    typed = set()
    for line in text.splitlines():
        if line.startswith("# "):
            _, keyword, name, *_ = line.split(" ")
            assert keyword in {"HELP", "TYPE"}
            typed |= {name} if keyword == "TYPE" else set()
            continue
        found = re.fullmatch(r"([a-z_]+)\{(.*)\} ([0-9.]+)", line)
        assert found, line
        assert found[1] in typed, "HELP and TYPE come first"
        pairs = re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', found[2])
        assert ",".join(f'{name}="{value}"' for name, value in pairs) == found[2]
        unescaped = {
            name: re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], value) for name, value in pairs
        }
        yield found[1], unescaped, float(found[3])


def value(text: str, name: str) -> list[float]:
    return [found for metric, _, found in samples(text) if metric == f"warmline_prescale_{name}"]


class TestExposition:
    def test_of_a_run(self) -> None:
        text = exposition([REPORT])
        assert 'warmline_prescale_run_exit_code{stack="prod"} 1\n' in text
        where = 'stack="prod",serving_namespace="serving",serving_service="support-bot"'
        for name, expected in (
            ("baseline_replicas", "2"),
            ("floor_wanted_replicas", "7"),
            ("floor_in_force_replicas", "5"),
            ("ready_replicas", "4"),
            ("next_start_timestamp_seconds", "1824820200"),
        ):
            assert f"warmline_prescale_{name}{{{where}}} {expected}\n" in text
        assert {name for name, _, _ in samples(text)} == {gauge.name for gauge in GAUGES}

    def test_names_are_of_prometheus_rules(self) -> None:
        for gauge in GAUGES:
            assert re.fullmatch(r"warmline_prescale(_[a-z]+)+", gauge.name)
            assert not gauge.name.endswith(("_total", "_count", "_sum", "_bucket")), "none is a counter"
            assert "\n" not in gauge.text
            assert "\\" not in gauge.text
            assert (gauge.of_run is None) != (gauge.of_service is None)

    def test_what_is_not_known_has_no_sample(self) -> None:
        unknown = replace(SERVICE, floor_in_force=None, ready=None, starts_at=None, until=None)
        text = exposition([replace(REPORT, services=(unknown,))])
        for name in ("floor_in_force_replicas", "ready_replicas", "next_start_timestamp_seconds"):
            assert name not in text, "neither a sample nor a HELP without one"

    def test_a_run_that_failed_keeps_the_last_word_on_success_and_end(self) -> None:
        after = exposition([FAILED], read(exposition([REPORT])))
        assert value(after, "last_run_timestamp_seconds") == [at(60).timestamp()]
        assert value(after, "last_success_timestamp_seconds") == [at(-60).timestamp()]
        assert value(after, "floor_until_timestamp_seconds") == [at(4 * HOUR).timestamp()]
        assert value(after, "run_exit_code") == [3]
        assert value(after, "floor_wanted_replicas") == [], "nobody looked"
        assert exposition([FAILED], read(after)) == after, "for as many runs as fail"

    def test_one_that_let_go_has_no_end(self) -> None:
        after = exposition([replace(REPORT, services=(replace(SERVICE, until=None),))], read(exposition([REPORT])))
        assert FLOOR_UNTIL not in after

    def test_a_stack_keeps_its_own_and_no_others(self) -> None:
        staging = replace(REPORT, stack="staging", last_success=at(-HOUR), services=())
        after = exposition([FAILED], read(exposition([REPORT, staging])))
        assert 'stack="staging"' not in after
        assert read(exposition([REPORT, staging])).last_success("staging") == at(-HOUR)
        assert read(exposition([REPORT])).last_success("staging") is None

    @given(st.lists(st.text(max_size=20), min_size=1, max_size=3, unique=True), st.text(max_size=20))
    def test_any_label_comes_back(self, stacks: list[str], service: str) -> None:
        reports = [replace(REPORT, stack=name, services=(replace(SERVICE, service=service),)) for name in stacks]
        text = exposition(reports)
        found = [labels for name, labels, _ in samples_of(text) if name.endswith("floor_wanted_replicas")]
        assert [labels["stack"] for labels in found] == stacks
        assert {labels["serving_service"] for labels in found} == {service}

    @given(st.text(max_size=200))
    def test_a_file_of_anything_is_read(self, text: str) -> None:
        assert read(text) == Before()

    @given(st.text("0123456789.eE+-", min_size=1, max_size=25))
    def test_a_sample_of_any_number_is_read_or_passed_over(self, number: str) -> None:
        found = read(f'{LAST_SUCCESS}{{stack="prod"}} {number}\n').last_success("prod")
        assert found is None or found.timestamp() == int(number)

    def test_a_name_that_is_no_text_is_told(self) -> None:
        named = replace(FAILED, stack="\udcff")
        assert json.loads(log_line.log_line(named).encode())["stack"] == "\udcff"
        assert b'stack="?"' in exposition([named]).encode()


def samples_of(text: str) -> list[tuple[str, dict[str, str], float]]:
    """As `samples`, of a text whose labels may hold what ends a line for Python and not for Prometheus."""
    return [sample for line in text.split("\n") if line and not line.startswith("#") for sample in _bare(line)]


def _bare(line: str) -> Iterator[tuple[str, dict[str, str], float]]:
    found = re.fullmatch(r"([a-z_]+)\{(.*)\} ([0-9.]+)", line, re.DOTALL)
    assert found, line
    pairs = re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', found[2], re.DOTALL)
    yield (
        found[1],
        {name: re.sub(r"\\(.)", lambda match: "\n" if match[1] == "n" else match[1], text) for name, text in pairs},
        float(found[3]),
    )


class TestWholeFile:
    def test_is_readable_by_others_and_leaves_nothing_beside_it(self, tmp_path: Path) -> None:
        path = tmp_path / "warmline.prom"
        whole_file.write(path, "a 1\n")
        whole_file.write(path, exposition([REPORT]))
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
        assert list(tmp_path.iterdir()) == [path]
        assert read(path.read_text()).samples[LAST_SUCCESS, "prod"]

    def test_stays_as_it_was_where_it_cannot_be_replaced(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "warmline.prom"
        whole_file.write(path, "a 1\n")

        def full(_: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(OSError, match="No space"):
            whole_file.write(path, "a 2\n")
        assert path.read_text() == "a 1\n"
        assert list(tmp_path.iterdir()) == [path]

    def test_is_never_half_there(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is whole and on the disk before it has the name."""
        path = tmp_path / "warmline.prom"
        seen: list[tuple[bool, str]] = []
        real = os.fsync

        def watched(file: int) -> None:
            (other,) = tmp_path.iterdir()
            seen.append((other == path, other.read_text()))
            real(file)

        monkeypatch.setattr(os, "fsync", watched)
        whole_file.write(path, "a 1\n")
        assert seen == [(False, "a 1\n"), (True, "a 1\n")]
