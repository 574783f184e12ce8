"""`warmline size check` against a Prometheus whose answers are made: what holds, what moved, what is out of reach."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.sizing import KNOWN, change_service, run, write_classes, write_request
from tests.cli.stack_folder import copied_stacks, edit
from tests.evidence.prometheus_double import Made, result, serving


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = copied_stacks(tmp_path)
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
    for name in ("WARMLINE_STACK", "WARMLINE_PROMETHEUS_URL"):
        monkeypatch.delenv(name, raising=False)
    return root / "local"


def checked(made: Made, *options: str, code: int = 0) -> Result:
    with serving(made.answer) as url:
        return run("check", "-s", "local", "--prometheus", url, *options, code=code)


def data(made: Made, *options: str, code: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(checked(made, "-o", "json", *options, code=code).stdout)
    service: dict[str, Any] = found["services"]["support-bot"]
    return service


def verdicts(service: dict[str, Any]) -> dict[str, str]:
    return {what: each["verdict"] for what, each in service["assumptions"].items()}


def test_a_plan_that_holds(stack: Path) -> None:
    service = data(Made())
    assert service["findings"] == []
    assert verdicts(service) == {
        "offered_rps": "holds",
        "request_duration_s": "holds",
        "in_flight": "holds",
        "input_tokens": "not planned",
        "output_tokens": "holds",
        "in_flight_per_replica": "less",
        "replicas": "holds",
        "preemptions": "holds",
    }
    assert service["assumptions"]["offered_rps"]["seen"] == pytest.approx(26.7)
    assert service["planned"] == {"in_flight": {"low": 208.26, "high": 208.26}, "replicas": {"low": 7, "high": 7}}
    assert "support-bot: the plan holds" in checked(Made()).stdout


def test_a_longer_request_takes_a_replica_more(stack: Path) -> None:
    made = Made(duration_s=9.1)
    duration = data(made, code=1)["assumptions"]["request_duration_s"]
    assert (duration["planned"], duration["seen"], duration["verdict"]) == ({"low": 7.8, "high": 7.8}, 9.1, "moved")
    assert duration["ratio"] == pytest.approx(7 / 6)
    assert duration["plan_with_it"]["in_flight"]["high"] == pytest.approx(242.97)
    assert duration["plan_with_it"]["replicas"] == {"low": 8, "high": 8}
    text = checked(made, code=1).stdout
    assert "! support-bot: request duration: planned 7.8 s, seen 9.1 (x 1.167): 243 in flight, 8 replicas" in text
    assert "instead of 7" in text


def test_the_tolerance_is_the_operators(stack: Path) -> None:
    assert data(Made(duration_s=9.1), "--tolerance-pct", "20")["findings"] == []


def test_a_short_request_has_moved_only_under_the_planned_load(stack: Path) -> None:
    assert verdicts(data(Made(duration_s=5, rps=5)))["request_duration_s"] == "less"
    service = data(Made(duration_s=5), code=1)
    assert verdicts(service)["request_duration_s"] == "moved"
    assert service["assumptions"]["request_duration_s"]["plan_with_it"]["replicas"]["high"] == 5


def test_lengths_move_either_way(stack: Path) -> None:
    assert verdicts(data(Made(output_tokens=300), code=1))["output_tokens"] == "moved"
    assert verdicts(data(Made(output_tokens=500, rps=3), code=1))["output_tokens"] == "moved"


def test_less_load_than_planned_is_no_finding(stack: Path) -> None:
    service = data(Made(rps=5, replicas=2))
    assert verdicts(service) == verdicts(service) | {"offered_rps": "less", "in_flight": "less", "replicas": "less"}


def test_fewer_replicas_than_planned_under_the_planned_load_are_one(stack: Path) -> None:
    service = data(Made(replicas=5), code=1)
    assert verdicts(service)["replicas"] == "moved"
    # 208.26 / 5 = 41.7 of 40: within the tolerance; of 4 it is not.
    assert verdicts(service)["in_flight_per_replica"] == "holds"
    assert verdicts(data(Made(replicas=4), code=1))["in_flight_per_replica"] == "moved"


def test_a_rollouts_surge_is_no_replica_too_many(stack: Path) -> None:
    assert verdicts(data(Made(replicas=8)))["replicas"] == "holds"
    assert verdicts(data(Made(replicas=12), code=1))["replicas"] == "moved"


def test_what_arrives_counts_and_not_what_ends(stack: Path) -> None:
    """20 of 32 requests a second end, 11 more wait each second, 1 is refused."""
    made = Made(rps=32, growth=11, refused_rps=1, ends={"stop": 0.9, "length": 0.05, "abort": 0.05})
    service = data(made, code=1)
    assert service["peak"]["offered_rps"] == pytest.approx(32)
    assert service["peak"]["ended_rps"] == pytest.approx(20)
    assert verdicts(service)["offered_rps"] == "moved"
    assert any("32 requests/s arrived and 20 ended" in remark for remark in service["remarks"])
    assert data(Made(refused_rps=None))["refused"] is None


def test_all_that_moved_together(stack: Path) -> None:
    service = data(Made(rps=32, duration_s=9.1), code=1)
    # 32 x 9.1 = 291.2 in flight: 7.28 replicas of load, x 1.3 = 9.464.
    assert service["with_all_that_moved"]["in_flight"]["high"] == pytest.approx(291.2)
    assert service["with_all_that_moved"]["replicas"]["high"] == 10
    assert "with all that moved: 291.2 in flight, 10 replicas instead of 7" in service["findings"][-1]


def test_preemptions(stack: Path) -> None:
    assert verdicts(data(Made(preemptions=0.05)))["preemptions"] == "holds"
    assert verdicts(data(Made(preemptions=0.5), code=1))["preemptions"] == "moved"


class TestSlo:
    def test_a_limit_between_two_bounds_is_not_told(self, stack: Path) -> None:
        """600 ms lies between 0.5 and 0.75 s, 20 ms between 10 and 25: all, or none, may be within."""
        slo = data(Made())["slo"]
        assert slo["verdict"] == "unknown"
        assert slo["limits"]["ttft"]["share"] == {"low": 0, "high": 1}
        assert slo["limits"]["ttft"]["p95_s"]["low"] == 0.5
        assert slo["limits"]["ttft"]["p95_s"]["high"] == 0.75
        text = " ".join(checked(Made()).stdout.split())
        assert "the limit of 0.02 s is no bound of the engine's buckets, which have 0.01 and 0.025 s" in text
        assert "engine.args.custom-histogram-buckets can make it one" in text

    def test_a_limit_that_is_a_bound_is_exact(self, stack: Path) -> None:
        change_service(stack, slo={"ttft_p95_ms": 750, "tpot_p95_ms": 25})
        edit(stack / "workloads.yaml", "ttft_p95_ms: 600, tpot_p95_ms: 20", "ttft_p95_ms: 750, tpot_p95_ms: 25")
        slo = data(Made())["slo"]
        assert (slo["verdict"], slo["share"]) == ("holds", {"low": 1, "high": 1})

    def test_not_kept(self, stack: Path) -> None:
        service = data(Made(ttft_s=0.9), code=1)
        assert service["slo"]["verdict"] == "fails"
        assert service["slo"]["limits"]["ttft"]["share"] == {"low": 0, "high": 0}
        assert any(
            "SLO not kept: at most 0 % of the requests within every limit" in text for text in service["findings"]
        )
        assert any("ttft p95 0.75 to 1 s" in text for text in service["findings"])

    def test_not_kept_with_less_than_a_replica_is_to_carry_moves_its_number(self, stack: Path) -> None:
        """208.26 in flight over 7 replicas: 29.75 of 40, and already too slow."""
        service = data(Made(ttft_s=0.9), code=1)
        each = service["assumptions"]["in_flight_per_replica"]
        assert each["verdict"] == "moved"
        assert each["plan_with_it"]["replicas"]["high"] == 10  # 208.26 / 29.7514 = 7, x 1.3 = 9.1

    def test_failed_and_refused_requests_kept_nothing(self, stack: Path) -> None:
        change_service(stack, slo={"ttft_p95_ms": 750, "tpot_p95_ms": 25})
        edit(stack / "workloads.yaml", "ttft_p95_ms: 600, tpot_p95_ms: 20", "ttft_p95_ms: 750, tpot_p95_ms: 25")
        service = data(Made(ends={"stop": 0.98, "error": 0.02}), code=1)
        assert service["slo"]["verdict"] == "fails"
        assert service["slo"]["share"]["high"] == pytest.approx(0.98)

    def test_every_limit_that_is_asked(self, stack: Path) -> None:
        edit(stack / "workloads.yaml", "overload: queue", "overload: queue, e2e_p95_s: 10, queue_p95_ms: 100")
        slo = data(Made())["slo"]
        assert slo["limits"]["e2e"]["verdict"] == "holds"
        assert slo["not_recorded"] == ["queue"]
        assert slo["verdict"] == "unknown"


class TestNothing:
    def test_no_series_is_a_finding_and_no_zero(self, stack: Path) -> None:
        service = data(Made(is_scraped=False), code=1)
        assert (service["recorded"], service["peak"], service["slo"], service["assumptions"]) == (False, None, None, {})
        (finding,) = service["findings"]
        assert 'vllm:num_requests_running{namespace="serving",model_name="support-8b"}' in finding
        assert "nothing to compare the plan with" in checked(Made(is_scraped=False), code=1).stdout

    def test_no_request_is_a_finding_too(self, stack: Path) -> None:
        (finding,) = data(Made(rps=0), code=1)["findings"]
        assert finding.endswith("no request ended in this window, and none was in flight")

    def test_engines_that_hang_are_told_from_engines_without_work(self, stack: Path) -> None:
        (finding,) = data(Made(rps=2, growth=2), code=1)["findings"]
        assert "no request ended in this window, while up to" in finding
        assert "were in flight: do the engines answer?" in finding


class TestOutOfReach:
    def test_nobody_listens(self, stack: Path) -> None:
        said = run("check", "-s", "local", "--prometheus", "http://127.0.0.1:1", code=3)
        assert "http://127.0.0.1:1: out of reach" in said.stderr

    @pytest.mark.parametrize(
        ("status", "body", "reason"),
        [
            (200, "<html>hello</html>", "not with JSON"),
            (503, "busy", "answered 503"),
            (200, "[]", "not one of a Prometheus"),
            (200, '{"data": {"result": "none"}}', "not one of a Prometheus"),
            (200, result([{"metric": {}, "values": [["now"]]}]), "not one of a Prometheus"),
            (422, '{"status": "error", "error": "query timed out"}', "query timed out"),
        ],
    )
    def test_not_as_a_prometheus_answers(self, stack: Path, status: int, body: str, reason: str) -> None:
        with serving(lambda path, asked: (status, body)) as url:
            said = run("check", "-s", "local", "--prometheus", url, code=3)
        assert url in said.stderr
        assert reason in said.stderr

    def test_a_password_in_the_address_is_not_printed(self, stack: Path) -> None:
        with serving(Made().answer) as url:
            found = run("check", "-s", "local", "--prometheus", url.replace("//", "//reader:hunter2@"), "-o", "json")
        assert json.loads(found.stdout)["prometheus"] == url
        said = run("check", "-s", "local", "--prometheus", "http://reader:hunter2@127.0.0.1:1", code=3).stderr
        assert "http://127.0.0.1:1: out of reach" in said
        assert "hunter2" not in said

    @pytest.mark.parametrize("url", ["prometheus:9090", "ftp://127.0.0.1", "http://[::1", "http://"])
    def test_no_address(self, stack: Path, url: str) -> None:
        assert url in run("check", "-s", "local", "--prometheus", url, code=3).stderr


class TestOptions:
    @pytest.mark.parametrize(
        ("options", "said"),
        [
            (("--last", "soon"), "expected a number and s, m, h or d"),
            (("--last", "5s"), "expected 10 s to 92 days"),
            (("--last", "1h", "--from", "2026-01-01T00:00:00Z"), "--last is up to now"),
            (("--to", "2026-01-01T00:00:00Z"), "--to needs --from"),
            (("--from", "yesterday"), "2027-10-29 20:00"),
            (("--from", "2026-01-02T00:00:00Z", "--to", "2026-01-01T00:00:00Z"), "expected 10 s to 92 days"),
            (("--from", "2026-01-01T00:00:00Z", "--to", "2150-01-01T00:00:00Z"), "in the future"),
            (("--service", "chat"), "support-bot"),
            (("--tolerance-pct", "much"), "per cent"),
            (("--tolerance-pct", "0"), "per cent"),
        ],
    )
    def test_bad_ones(self, stack: Path, options: tuple[str, ...], said: str) -> None:
        assert said in run("check", "-s", "local", *options, code=2).stderr

    def test_a_window_of_the_calendars_zone(self, stack: Path) -> None:
        times = ("--from", "2026-11-01 20:00", "--to", "2026-11-01 20:30")
        with serving(Made().answer) as url:
            found = json.loads(run("check", "-s", "local", "--prometheus", url, "-o", "json", *times).stdout)
        assert (found["from"], found["to"]) == ("2026-11-01T14:30:00Z", "2026-11-01T15:00:00Z")
        assert found["busiest_s"] == 300

    def test_the_stacks_own_prometheus(self, stack: Path) -> None:
        with serving(Made().answer) as url:
            edit(stack / "platform.yaml", "http://127.0.0.1:9090", url)
            assert "the plan holds" in run("check", "-s", "local").stdout


class TestManyClasses:
    def test_classes_and_requests_of_a_service_are_one(self, stack: Path) -> None:
        """10 rps of 5 s and 10 rps of 15 s: 20 rps of 10 s on average; as seen, x 1.2 each."""
        short = {"rps": 10, "request_duration_s": 5, "output_tokens": {"mean": 100}}
        long = {"rps": 10, "request_duration_s": 15, "output_tokens": {"mean": 300}}
        write_classes(stack, {"short": KNOWN | short, "long": KNOWN | long}, reliability={"headroom_pct": 0})
        service = data(Made(rps=20, duration_s=12, output_tokens=200), code=1)
        assert service["planned"]["replicas"]["high"] == 5
        duration = service["assumptions"]["request_duration_s"]
        assert duration["planned"] == {"low": 10, "high": 10}
        assert duration["plan_with_it"] == {"in_flight": {"low": 240, "high": 240}, "replicas": {"low": 6, "high": 6}}
        assert service["assumptions"]["output_tokens"]["planned"] == {"low": 200, "high": 200}
        assert any("does not know whose" in remark for remark in service["remarks"])

    def test_a_range_that_was_assumed_holds_within_it(self, stack: Path) -> None:
        """Nothing but a rate was said: a request takes half of what the SLO allows, to all of it."""
        write_request(stack, {"rps": 2, "output_tokens": {"mean": 400}}, reliability={"headroom_pct": 0})
        duration = data(Made(rps=2, replicas=1), code=0)["assumptions"]["request_duration_s"]
        assert duration["planned"] == {"low": 4.29, "high": 8.58}
        assert duration["verdict"] == "holds"
