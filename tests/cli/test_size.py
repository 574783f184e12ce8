"""Sizing through the commands: the numbers that must come out exactly, assumptions, findings, bad input."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.sizing import KNOWN, NOTHING_MORE, change_service, planned, run, write_classes, write_request
from tests.cli.stack_folder import REPOSITORY, copied_stacks, edit

NO_RESERVE = {"reliability": {"headroom_pct": 0}}
ONE_POD = {"survive": "pod", "capacity_after_loss_pct": 100, "near_term_growth_pct": 0}
MODEL = {
    "config.json": (REPOSITORY / "tests" / "core" / "model_configs" / "llama-3-8b.json").read_text(encoding="utf-8"),
    "model.safetensors.index.json": '{"metadata": {"total_size": 16060522496}}',
}
EVIDENCE = {"evidence": "benchmarks/support-8b-l40s.md", "kind": "sandbox"}


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = copied_stacks(tmp_path)
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
    monkeypatch.delenv("WARMLINE_STACK", raising=False)
    return root / "local"


class TestNumbers:
    def test_the_worked_example(self, stack: Path) -> None:
        plan = planned()
        assert plan["most"]["classes"]["chat"]["in_flight"] == 208.26
        assert plan["most"]["replicas_of_load"] == {"in_flight": 5.2065}
        assert (plan["most"]["base"], plan["most"]["replicas"]) == (6, 7)
        assert plan["fewest"] == plan["most"]
        assert (plan["preliminary"], plan["assumptions"]) == (False, [])
        text = run("plan", "-s", "local").stdout
        assert "chat: 26.7 rps x 7.8 s = 208.26 in flight" in text
        assert "5.2065 x 1.3 = 6.76845" in text
        assert "support-bot: 7 replicas of support-bot" in text

    def test_an_exact_match_cache_that_answers_12_percent(self, stack: Path) -> None:
        edit(stack / "workloads.yaml", "exact_cache_hit_pct: 0 ", "exact_cache_hit_pct: 12 ")
        plan = planned()
        assert plan["most"]["classes"]["chat"]["in_flight"] == 183.2688
        assert plan["most"]["replicas"] == 6
        assert "x (1 - 12 % from the cache) x 7.8 s = 183.2688 in flight" in run("plan", "-s", "local").stdout

    def test_fifty_rps_of_twelve_seconds_are_600_in_flight(self, stack: Path) -> None:
        write_request(stack, {"rps": 50, "request_duration_s": 12}, **NO_RESERVE)
        assert planned()["most"]["classes"]["chat"]["in_flight"] == 600

    @pytest.mark.parametrize(("headroom_pct", "replicas"), [(0, 16), (25, 20)])
    def test_streams_by_their_tokens(self, stack: Path, headroom_pct: int, replicas: int) -> None:
        change_service(
            stack,
            capacity={"in_flight_per_replica": 200},
            engine={"max_num_seqs": 256},
            replicas={"max": 20},
        )
        edit(stack / "platform.yaml", "max_nodes: 18", "max_nodes: 21")
        load = {
            "streams": 2000,
            "tokens_per_s_per_stream": 20,
            "per_replica": {"output_tokens_per_s": 2500, **EVIDENCE},
        }
        write_request(stack, load, reliability={"headroom_pct": headroom_pct})
        plan = planned()
        assert plan["most"]["classes"]["chat"]["output_tokens_per_s"] == 40_000
        assert plan["most"]["replicas_of_load"] == {"in_flight": 10, "output_tokens_per_s": 16}
        assert (plan["most"]["binds"], plan["most"]["replicas"]) == ("output_tokens_per_s", replicas)
        text = run("plan", "-s", "local").stdout
        assert "2000 streams x 20 tokens/s = 40000 output tokens/s" in text
        assert "output tokens/s: 16 replicas of load (binds)" in text

    def test_whichever_needs_more_binds(self, stack: Path) -> None:
        load = {"streams": 400, "tokens_per_s_per_stream": 20}
        write_request(stack, load | {"per_replica": {"output_tokens_per_s": 2500, **EVIDENCE}}, **NO_RESERVE)
        plan = planned()
        assert (plan["most"]["binds"], plan["most"]["replicas"]) == ("in_flight", 10)

    def test_ten_rps_of_six_seconds_at_thirty_each_are_two(self, stack: Path) -> None:
        change_service(stack, capacity={"in_flight_per_replica": 30})
        write_request(stack, {"rps": 10, "request_duration_s": 6}, **NO_RESERVE)
        assert planned()["most"]["replicas"] == 2

    def test_no_binary_float_before_the_ceil(self, stack: Path) -> None:
        change_service(stack, capacity={"in_flight_per_replica": 0.7}, usual_load=None)
        write_request(stack, {"in_flight": 2.1}, **NO_RESERVE)
        assert planned()["most"]["replicas"] == 3

    def test_seven_over_three_zones_that_survive_one_are_eleven(self, stack: Path) -> None:
        survive = {"survive": "zone", "zones": 3, "capacity_after_loss_pct": 100, "near_term_growth_pct": 0}
        write_request(stack, {"in_flight": 280, "largest_minute_jump_pct": 0}, reliability=survive)
        plan = planned()
        assert (plan["most"]["base"], plan["most"]["replicas"], plan["preliminary"]) == (7, 11, False)
        (failure,) = [part for part in plan["most"]["reserve"] if part["set"] == "failure"]
        assert failure["replicas"] == 4
        assert plan["remarks"] == []
        assert "maxSkew 1 and minDomains 3" in failure["why"]

    def test_growth_while_a_replica_starts_leads_to_the_peak_and_not_beyond_it(self, stack: Path) -> None:
        """300 s of cold start at 10 % of the peak a minute: half of the peak, on top of what usually runs."""
        load = {"in_flight": 280, "largest_minute_jump_pct": 10, "burst_duration_s": 600}
        write_request(stack, load, reliability=NOTHING_MORE)
        plan = planned()
        assert (plan["most"]["replicas"], plan["preliminary"]) == (7, False)
        (cold,) = [part for part in plan["most"]["reserve"] if part["set"] == "cold_start"]
        assert (cold["replicas"], cold["why"][:20]) == (0, "3.5 replicas of load")
        assert baseline(plan) == 5  # 1.0335 usually, and 3.5
        write_request(stack, load | {"burst_duration_s": 60}, reliability=NOTHING_MORE)
        plan = planned()
        assert baseline(plan) == 2  # and 0.7
        assert "bursts of class chat last 60 s, less than a replica's start (300 s)" in plan["remarks"][0]
        write_request(stack, load | {"burst_duration_s": 5}, reliability=NOTHING_MORE)
        assert baseline(planned()) == 2  # it may come within those five seconds

    def test_no_rise_is_steeper_than_to_the_peak(self, stack: Path) -> None:
        """28 % of the peak a minute, for 7 minutes, are 196 % of it."""
        change_service(stack, cold_start={"weights_s": 240, "engine_start_s": 180})
        load = {"in_flight": 280, "largest_minute_jump_pct": 28, "burst_duration_s": 420}
        write_request(stack, load, reliability=ONE_POD)
        plan = planned()
        assert (plan["most"]["base"], plan["most"]["replicas"], baseline(plan)) == (7, 8, 8)
        found = next(one for one in plan["settings"] if one["name"] == "baseline")
        assert "1.034 replicas of load and 5.966 that may come while one starts" in found["why"]

    def test_how_long_a_rise_goes_on_is_an_assumption(self, stack: Path) -> None:
        load = {"in_flight": 280, "largest_minute_jump_pct": 10}
        write_request(stack, load, reliability=NOTHING_MORE)
        plan = planned()
        assert [(one["field"], one["fewest"], one["most"]) for one in plan["assumptions"]] == [
            ("profile.classes.chat.burst_duration_s", 60, 300)
        ]
        assert "burst_duration_s" not in plan["open_questions"]["profile.classes.chat"], "it moves the number"
        write_request(stack, load | {"largest_minute_jump_pct": 0}, reliability=NOTHING_MORE)
        plan = planned()
        assert plan["assumptions"] == [], "without a rise its length says nothing"
        assert "burst_duration_s" in plan["open_questions"]["profile.classes.chat"]


def baseline(plan: dict[str, Any]) -> Any:
    return next(one["value"] for one in plan["settings"] if one["name"] == "baseline")


class TestClasses:
    def test_each_class_by_its_own_measurement(self, stack: Path) -> None:
        long = {"in_flight": 20, "per_replica": {"in_flight": 10, **EVIDENCE}}
        write_classes(stack, {"chat": KNOWN | {"in_flight": 80}, "summaries": KNOWN | long}, **NO_RESERVE)
        plan = planned()
        assert plan["most"]["replicas_of_load"] == {"in_flight": 4}  # 80/40 + 20/10
        assert plan["one_replica"]["summaries"]["in_flight"] == 10
        assert plan["remarks"] == ["the peaks of all classes are taken to coincide"]

    def test_a_class_not_measured_in_what_binds_leaves_no_less_of_a_replica_taken(self, stack: Path) -> None:
        """Tokens of `chat` fill 16 replicas; `jobs`, of which only those in flight are known, fill 10 more."""
        own = {"in_flight": 40, "output_tokens_per_s": 2500, **EVIDENCE}
        chat = {"streams": 80, "tokens_per_s_per_stream": 500, "per_replica": own}
        write_classes(stack, {"chat": KNOWN | chat, "jobs": KNOWN | {"in_flight": 400}}, **NO_RESERVE)
        plan = planned(code=1)
        assert plan["most"]["replicas_of_load"] == {"in_flight": 12, "output_tokens_per_s": 26}
        assert plan["most"]["replicas"] == 26

    def test_the_plan_is_worth_its_weakest_number(self, stack: Path) -> None:
        (stack / "benchmarks" / "serving.yaml").unlink()
        own = {"in_flight": 10, "evidence": "benchmarks/support-8b-l40s.md", "kind": "measured"}
        write_request(stack, {"in_flight": 80, "per_replica": own}, **NO_RESERVE)
        assert planned()["evidence_kind"] == "measured"
        assert run("plan", "-s", "local").stdout.startswith("bot: 8 replicas")
        del own["in_flight"]
        load = {"in_flight": 80, "request_duration_s": 16, "per_replica": own | {"rps": 3}}
        write_request(stack, load, **NO_RESERVE)
        assert planned()["evidence_kind"] == "illustrative"
        first = run("plan", "-s", "local").stdout.splitlines()[0]
        assert first.startswith("bot: rests on illustrative evidence (benchmarks/support-8b-l40s.md)")


class TestAssumptions:
    def test_what_is_missing_is_a_range_with_its_reasons(self, stack: Path) -> None:
        write_classes(stack, {"chat": {"registered_users": 400}})
        plan = planned()
        assert plan["preliminary"]
        assert plan["fewest"]["replicas"] < plan["most"]["replicas"]
        fields = {one["field"] for one in plan["assumptions"]}
        assert {
            f"profile.classes.chat.{name}"
            for name in ("active_pct", "runs_per_user_hour", "llm_calls_per_run", "retries_pct", "growth_pct")
        } < fields
        assert "reliability.headroom_pct" in fields
        assert all(one["why"] for one in plan["assumptions"])
        text = run("plan", "-s", "local").stdout
        assert re.search(r"^bot: preliminary, 1 to \d+ replicas", text, re.MULTILINE)
        assert "400 registered users x 5 to 30 % active x 1 to 10 runs/h" in text

    def test_zones_nobody_named(self, stack: Path) -> None:
        reserve = {"survive": "zone", "capacity_after_loss_pct": 100, "near_term_growth_pct": 0}
        write_request(stack, {"in_flight": 120, "largest_minute_jump_pct": 0}, reliability=reserve)
        plan = planned()
        assert (plan["fewest"]["replicas"], plan["most"]["replicas"]) == (5, 6)
        assert [(one["field"], one["fewest"], one["most"]) for one in plan["assumptions"]] == [
            ("reliability.zones", 3, 2)
        ]
        assert "2 to 3" in run("plan", "-s", "local").stdout

    def test_growth_that_nobody_ruled_out_is_a_range(self, stack: Path) -> None:
        load = {"in_flight": 280, "largest_minute_jump_pct": 0}
        write_request(stack, load, reliability={"survive": "none"})
        plan = planned()
        assert (plan["preliminary"], plan["fewest"]["replicas"], plan["most"]["replicas"]) == (True, 7, 9)
        (one,) = plan["assumptions"]
        assert (one["field"], one["fewest"], one["most"]) == ("reliability.near_term_growth_pct", 0, 20)
        before = (stack / "platform.yaml").read_bytes()
        assert "the plan is preliminary" in run("plan", "-s", "local", "--write", code=1).stdout
        assert (stack / "platform.yaml").read_bytes() == before
        write_request(stack, load, reliability={"survive": "none", "near_term_growth_pct": 15})
        plan = planned()
        assert (plan["preliminary"], plan["fewest"]["replicas"], plan["most"]["replicas"]) == (False, 9, 9)

    def test_requests_a_second_follow_from_how_long_those_in_flight_take(self, stack: Path) -> None:
        """60 in flight at 8.58 s each are 7 a second, and at half of it 14: of 2 on each that binds."""
        own = {"per_replica": {"in_flight": 40, "rps": 2, **EVIDENCE}}
        load = {"in_flight": 60, "output_tokens": {"mean": 400}}
        write_request(stack, load | own, **NO_RESERVE)
        plan = planned()
        (one,) = plan["assumptions"]
        assert one["field"] == "profile.classes.chat.request_duration_s"
        assert (one["fewest"], one["most"]) == (8.58, 4.29)
        assert (plan["fewest"]["replicas"], plan["most"]["replicas"]) == (4, 7)
        write_request(stack, load | own | {"request_duration_s": 20}, **NO_RESERVE)
        plan = planned()
        assert (plan["preliminary"], plan["most"]["replicas"]) == (False, 2)

    def test_what_moves_no_number_is_an_open_question(self, stack: Path) -> None:
        questions = planned()["open_questions"]
        assert "tracing" in questions["observability"]
        assert "records_sensitive_content" not in questions["observability"]
        assert "headroom_pct" not in questions["reliability"]


class TestAsked:
    def test_what_is_said_beside_the_load_is_in_the_plan(self, stack: Path) -> None:
        text = run("plan", "-s", "local").stdout
        for field, said in (("product.owner", "support-platform"), ("slo.overload", "queue")):
            assert re.search(rf"^{re.escape(field)} +{said} *$", text, re.MULTILINE)


class TestFindings:
    def test_above_the_ceiling(self, stack: Path) -> None:
        write_request(stack, {"in_flight": 660}, **NO_RESERVE)
        assert planned(code=1)["findings"] == ["bot needs 17 replicas of support-bot, whose replicas.max is 16"]
        assert "! bot needs 17 replicas of support-bot" in run("plan", "-s", "local", code=1).stdout

    def test_a_usual_load_above_the_projected_peak(self, stack: Path) -> None:
        """60 replicas usually, 5.2 at the peak: one of the two files is wrong, and no baseline follows from either."""
        edit(stack / "platform.yaml", "usual_load: {rps: 5.3,", "usual_load: {rps: 307.6,")
        (found,) = planned(code=1)["findings"]
        assert found == (
            "services.support-bot.usual_load of platform.yaml is 307.6 rps x 7.8 s = 2399.28 in flight, above the "
            "projected peak of support-bot in workloads.yaml, 208.26: correct one of the two, or add the request that "
            "is missing there"
        )
        assert baseline(planned(code=1)) == 2
        before = (stack / "platform.yaml").read_bytes()
        assert "is not written: it would still be that" in run("plan", "-s", "local", "--write", code=1).stdout
        assert (stack / "platform.yaml").read_bytes() == before

    def test_what_a_cache_answers_usually_comes_too(self, stack: Path) -> None:
        edit(stack / "platform.yaml", "usual_load: {rps: 5.3,", "usual_load: {rps: 26.7,")
        edit(stack / "workloads.yaml", "exact_cache_hit_pct: 0 ", "exact_cache_hit_pct: 12 ")
        plan = planned()
        assert (plan["findings"], plan["most"]["replicas"], baseline(plan)) == ([], 6, 6)

    def test_a_part_of_the_requests_is_no_contradiction(self, stack: Path) -> None:
        path = stack / "workloads.yaml"
        data = path.read_text()
        data = data.replace("isolation: dedicated", "isolation: shared")
        second = data[data.index("  support-bot:") :].replace("  support-bot:", "  second-bot:", 1)
        path.write_text(data + second.replace("rps: 26.7", "rps: 2"))
        edit(stack / "platform.yaml", "usual_load: {rps: 5.3,", "usual_load: {rps: 20,")
        assert planned()["findings"] == []
        run("plan", "-s", "local", "--workload", "second-bot")

    def test_requests_for_one_service_count_together(self, stack: Path) -> None:
        path = stack / "workloads.yaml"
        data = path.read_text()
        data = data.replace("isolation: dedicated", "isolation: shared")
        path.write_text(data + data[data.index("  support-bot:") :].replace("  support-bot:", "  second-bot:", 1))
        assert planned()["findings"] == []
        edit(
            path,
            "headroom_pct: 30\n    observability:\n      records_sensitive_content: false\n  second",
            "headroom_pct: 80\n  second",
        )
        assert planned(code=1)["findings"] == [
            "support-bot and second-bot need 17 replicas of support-bot, whose replicas.max is 16"
        ]
        assert run("plan", "-s", "local", "--workload", "second-bot").exit_code == 0

    def test_a_pool_that_has_no_room_for_the_rollout(self, stack: Path) -> None:
        edit(stack / "platform.yaml", "max_nodes: 18", "max_nodes: 16")
        write_request(stack, {"in_flight": 640}, **NO_RESERVE)
        assert planned(code=1)["findings"] == ["pool l40s: 17 nodes are needed, rollouts included; its max_nodes is 16"]

    @pytest.mark.parametrize(
        ("sections", "finding"),
        [
            ({"slo": {"ttft_p95_ms": 400}}, "slo.ttft_p95_ms asks 400, but support-bot's capacity holds at 600"),
            ({"slo": {"attainment_pct": 99.9}}, "slo.attainment_pct asks 99.9, but support-bot's capacity holds at 99"),
            ({"slo": {"e2e_p95_s": 5}}, "class chat takes 7.8 s a request on average, above slo.e2e_p95_s (5)"),
            ({"slo": {"run_p95_s": 30}}, "a run of class chat takes 4 calls x 7.8 s = 31.2 s one after another"),
            ({"reliability": {"headroom_pct": 0, "max_recovery_s": 60}}, "a replica takes 300 s to be Ready"),
        ],
    )
    def test_promises_that_were_not_measured(self, stack: Path, sections: dict[str, Any], finding: str) -> None:
        load = {"rps": 10, "request_duration_s": 7.8, "llm_calls_per_run": 4}
        write_request(stack, load, **(NO_RESERVE | sections))
        (found,) = planned(code=1)["findings"]
        assert finding in found

    def test_a_limit_that_a_typed_number_was_not_measured_for_is_said(self, stack: Path) -> None:
        write_request(stack, {"rps": 11, "request_duration_s": 4}, slo={"e2e_p95_s": 5}, **NO_RESERVE)
        assert planned()["remarks"] == ["slo.e2e_p95_s (5) is held against nothing: no result files were judged by it"]


class TestBadInput:
    @pytest.mark.parametrize(
        ("load", "fault"),
        [
            ({}, "classes.chat: got no load, expected one of registered_users, active_users"),
            ({"rps": 1, "streams": 2}, "got rps and streams, expected one of"),
            ({"rps": 1, "peak_to_average": 2}, "chat.peak_to_average: got 2, expected no peak_to_average beside rps"),
            ({"rps": 1, "exact_cache_hit_pct": 0.12}, "exact_cache_hit_pct: got 0.12, expected percent"),
            ({"rps": 1, "exact_cache_hit_pct": 100}, "exact_cache_hit_pct: got 100, expected below 100"),
            ({"rps": 1, "output_tokens": {"p50": 9, "p95": 5}}, "output_tokens.p95: got 5, expected at least 9"),
            (
                {"rps": 1, "output_tokens": {"mean": 10, "p50": 2000}},
                "output_tokens.mean: got 10, expected at least 1000, as 50 % are p50 (2000) or longer",
            ),
            ({"rps": 1, "per_replica": {"in_flight": 1, "kind": "sandbox"}}, "per_replica.evidence: got nothing"),
            (
                {"rps": 1, "per_replica": {"in_flight": 1, "kind": "sandbox", "evidence": "nowhere"}},
                "per_replica.evidence: got nowhere, expected a file or folder in",
            ),
        ],
    )
    def test_a_class(self, stack: Path, load: dict[str, Any], fault: str) -> None:
        write_request(stack, load, **NO_RESERVE)
        result = run("plan", "-s", "local", code=2)
        assert result.stderr.count("\n") == 1
        assert fault in result.stderr
        assert result.stdout == ""

    @pytest.mark.parametrize(
        ("reserve", "fault"),
        [
            ({"headroom_pct": 30, "survive": "pod"}, "headroom_pct: got 30, expected no headroom_pct beside survive"),
            ({"zones": 3}, "reliability.survive: got nothing, expected survive beside zones"),
            ({"headroom_pct": 30, "one_at_a_time": ["failure"]}, "expected no headroom_pct beside one_at_a_time"),
            ({"survive": "zone", "zones": 1}, "reliability.zones: got 1, expected at least 2"),
            ({"survive": "node", "rollout": {"unavailable": "1/4"}}, "a whole number or a percentage, as 1 or 25%"),
            (
                {"survive": "zone", "zones": 2, "rollout": {"unavailable": "50%"}},
                "reliability.survive: got zone, expected a loss that leaves something beside what a rollout takes",
            ),
        ],
    )
    def test_a_reserve(self, stack: Path, reserve: dict[str, Any], fault: str) -> None:
        write_request(stack, {"in_flight": 40}, reliability=reserve)
        assert fault in run("plan", "-s", "local", code=2).stderr

    def test_faults_of_both_files_at_once(self, stack: Path) -> None:
        edit(stack / "workloads.yaml", "    service: support-bot", "    service: other-bot")
        edit(stack / "workloads.yaml", "      isolation: dedicated", "      isolated: dedicated")
        edit(stack / "platform.yaml", "max_nodes: 18", "max_nodes: 2")
        faults = run("plan", "-s", "local", code=2).stderr
        assert "replicas.max: got 16, expected at most 2" in faults
        assert "got the unknown field isolated" in faults
        assert "workloads.yaml:5: workloads.support-bot.service: got other-bot, expected a service of" in faults

    def test_production_takes_measurements_only(self, stack: Path) -> None:
        edit(stack / "platform.yaml", "prometheus:", "production: true\nprometheus:")
        edit(stack / "platform.yaml", "kind: illustrative", "kind: measured")
        write_request(stack, {"in_flight": 40, "per_replica": {"rps": 3, **EVIDENCE}}, **NO_RESERVE)
        assert "per_replica.kind: got sandbox, expected measured" in run("plan", "-s", "local", code=2).stderr

    def test_no_such_request(self, stack: Path) -> None:
        assert "none of the requests: support-bot" in run("plan", "-s", "local", "--workload", "other", code=2).stderr


class TestInit:
    def test_it_writes_what_can_be_planned_at_once(self, stack: Path) -> None:
        (stack / "workloads.yaml").unlink()
        assert "size init -s local" in run("plan", "-s", "local", code=2).stderr
        assert "Wrote" in run("init", "-s", "local").stdout
        plan = planned()
        assert plan["preliminary"]
        assert plan["fewest"]["classes"]["default"]["in_flight"] == 41.34

    def test_it_overwrites_nothing(self, stack: Path) -> None:
        before = (stack / "workloads.yaml").read_text()
        assert "got a file that is there, expected none to overwrite" in run("init", "-s", "local", code=2).stderr
        assert (stack / "workloads.yaml").read_text() == before

    def test_every_field_it_offers_exists(self, stack: Path) -> None:
        """All that is commented out, filled in: nothing unknown, and no field of the six sections missing."""
        (stack / "workloads.yaml").unlink()
        run("init", "-s", "local")
        path = stack / "workloads.yaml"
        head, body = path.read_text().split("workloads:\n")
        body = re.sub(r"^( +)# ", r"\1", body, flags=re.MULTILINE)
        for other in ("active_users", "runs_per_user_hour", "retries_pct", "peak_to_average", "headroom_pct"):
            body = re.sub(rf"^ +{other}: .*\n", "", body, flags=re.MULTILINE)
        path.write_text(f"{head}workloads:\n{body}")
        for name in ("config.json", "model.safetensors.index.json"):
            (stack / "models" / "support-8b").mkdir(parents=True, exist_ok=True)
            (stack / "models" / "support-8b" / name).write_text(MODEL[name])
        (stack / "benchmarks" / "serving.yaml").unlink()
        edit(stack / "platform.yaml", "max_num_seqs: 64", "max_num_seqs: 56")  # as many as fit at the p95 it shows
        (stack / "traces").mkdir()
        (stack / "traces" / "lengths-and-times.csv").write_text("")
        plan = planned()
        assert plan["open_questions"] == {}
        assert plan["assumptions"] == []

    def test_without_a_usual_load_it_asks_for_one(self, stack: Path) -> None:
        (stack / "workloads.yaml").unlink()
        edit(stack / "platform.yaml", "    usual_load: {rps: 5.3, request_duration_s: 7.8}\n", "")
        (stack / "events.yaml").write_text("timezone: UTC\nevents: []\n")
        run("init", "-s", "local")
        assert "got no load, expected one of registered_users" in run("plan", "-s", "local", code=2).stderr


def test_markdown_has_every_section_and_no_markup_from_a_name(stack: Path) -> None:
    change_service(stack, capacity={"evidence": "benchmarks/a|b.md"})
    (stack / "benchmarks" / "a|b.md").write_text("")
    write_classes(stack, {"chat": {"active_users": 40}})
    text = run("plan", "-s", "local", "-o", "markdown").stdout
    assert text.startswith("# Sizing of stack local\n\n## bot\n\nrests on illustrative evidence (benchmarks/a\\|b.md)")
    for title in ("Load on the GPUs", "Capacity of one replica", "Reserve", "Replicas", "Assumptions", "Not said"):
        assert f"### {title}" in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    for line in tables:
        assert line.endswith(" |")
    assert "a|b" not in text


def test_yaml_is_the_same_data(stack: Path) -> None:
    import yaml

    assert yaml.safe_load(run("plan", "-s", "local", "-o", "yaml").stdout) == json.loads(
        run("plan", "-s", "local", "-o", "json").stdout
    )


def test_what_is_said_stands_there_even_where_it_is_what_would_be_assumed(stack: Path) -> None:
    reliability = {"survive": "pod", "rollout": {"surge": "1", "unavailable": "0"}, "one_at_a_time": []}
    write_request(stack, {"in_flight": 80}, reliability=reliability)
    (line,) = (line for line in run("plan", "-s", "local").stdout.splitlines() if "reliability.rollout" in line)
    assert line.split(maxsplit=1)[1].strip() == "surge 1, unavailable 0"
