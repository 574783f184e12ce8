"""Settings derived from a plan: their reasons, the diff, and what --write does and refuses to do."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any, ClassVar

import pytest

from stacks.loader import load_platform
from tests.cli.sizing import KNOWN, change_service, planned, run, write_classes, write_request
from tests.cli.stack_folder import REPOSITORY, copied_stacks, edit

CONFIGS = REPOSITORY / "tests" / "core" / "model_configs"
NO_RESERVE = {"reliability": {"headroom_pct": 0}}
EVIDENCE = {"evidence": "benchmarks/support-8b-l40s.md", "kind": "sandbox"}


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = copied_stacks(tmp_path)
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
    (root / "local" / "benchmarks" / "serving.yaml").unlink()  # with it, the batch is what was measured
    return root / "local"


def settings(code: int = 0) -> dict[str, dict[str, Any]]:
    return {one["name"]: one for one in planned(code)["settings"]}


class TestDerived:
    def test_the_worked_example(self, stack: Path) -> None:
        found = settings()
        assert {name: one["value"] for name, one in found.items()} == {
            "KEDA's threshold, in flight a replica": 40,
            "sequences at once": 54,  # ceil(40 / 0.75)
            "in flight at one replica at most": "58",  # 54 + floor(0.6 s x 54 / 7.8 s)
            "gateway's cap, in flight": 928,  # 16 x 58
            "baseline": 2,
            "ceiling": 16,
        }
        assert [name for name, one in found.items() if one["changes"]] == [
            "sequences at once",
            "in flight at one replica at most",
        ]
        assert "so 4 more may wait within the TTFT limit of 600 ms" in found["in flight at one replica at most"]["why"]

    def test_the_autoscaler_runs_what_the_plan_has_where_tokens_fill_a_replica_first(self, stack: Path) -> None:
        """2,000 in flight are 10 replicas of 200, and 16 by their tokens: 125 in flight fill a replica."""
        change_service(stack, capacity={"in_flight_per_replica": 200}, engine={"max_num_seqs": 256})
        load = {
            "streams": 2000,
            "tokens_per_s_per_stream": 20,
            "per_replica": {"output_tokens_per_s": 2500, **EVIDENCE},
        }
        write_request(stack, load, **NO_RESERVE)
        assert planned()["preliminary"] is False
        threshold = settings()["KEDA's threshold, in flight a replica"]
        assert threshold["value"] == 125
        assert "at 200 this peak would run on 10 replicas, not 16" in threshold["why"]
        run("plan", "-s", "local", "--write")
        plan = planned()
        assert (plan["most"]["replicas"], plan["most"]["binds"], plan["diff"]) == (16, "in_flight", "")

    def test_where_classes_are_counted_by_their_own_numbers_the_rest_is_left_to_a_floor(self, stack: Path) -> None:
        long = {"in_flight": 20, "per_replica": {"in_flight": 10, **EVIDENCE}}
        write_classes(stack, {"chat": KNOWN | {"in_flight": 80}, "summaries": KNOWN | long}, **NO_RESERVE)
        threshold = settings()["KEDA's threshold, in flight a replica"]
        assert threshold["value"] == 40
        assert "at 40 this peak would run on 3 replicas, not 4" in threshold["why"]

    def test_a_bound_that_the_engine_is_too_old_for_has_no_place(self, stack: Path) -> None:
        edit(stack / "platform.yaml", "version: 0.33.0", "version: 0.28.1")
        found = settings()
        one = found["in flight at one replica at most"]
        assert (one["place"], one["value"], found["gateway's cap, in flight"]["value"]) == (None, "58", 928)
        assert one["why"].endswith("; vllm 0.28.1 has no --max-num-queued-reqs, 0.29.0 brought it")
        run("plan", "-s", "local", "--write")
        assert load_platform("local", stack.parent).services["support-bot"].engine.args == {}

    def test_what_is_rejected_is_what_nothing_shows_to_keep_the_time_per_token(self, stack: Path) -> None:
        """40 were typed: 45 are the fewest at which an HPA sees more than that, and 58 would wait in time."""
        edit(stack / "workloads.yaml", "overload: queue", "overload: reject")
        found = settings()
        one = found["in flight at one replica at most"]
        assert (one["value"], found["gateway's cap, in flight"]["value"]) == ("45", 16 * 45)
        assert "nothing shows that more than 40 keep the time per token" in one["why"]
        run("plan", "-s", "local", "--write")
        assert planned()["diff"] == ""

    def test_a_queue_limit_counts_before_the_first_tokens(self, stack: Path) -> None:
        write_request(stack, {"rps": 20, "request_duration_s": 7.8}, slo={"queue_p95_ms": 150}, **NO_RESERVE)
        one = settings()["in flight at one replica at most"]
        assert (one["value"], "within slo.queue_p95_ms of 150 ms" in one["why"]) == ("55", True)

    def test_prompt_tokens_by_what_a_replica_computes(self, stack: Path) -> None:
        per_replica = {"prefill_tokens_per_s": 8000, **EVIDENCE}
        load = {"rps": 20, "request_duration_s": 7.8, "input_tokens": {"mean": 900}, "prefix_cache_hit_pct": 0}
        write_request(stack, load | {"per_replica": per_replica}, **NO_RESERVE)
        one = settings()["prompt tokens that wait"]
        assert (one["place"][-1], one["value"]) == ("max-num-queued-tokens", "4800")

    def test_memory_keeps_the_batch_below_the_knee(self, stack: Path) -> None:
        shutil.copytree(CONFIGS, stack / "models")
        change_service(stack, engine={"max_num_seqs": 48})
        models = {"candidates": [{"name": "m", "config": "models/llama-3-8b.json"}]}
        load = {"rps": 20, "request_duration_s": 7.8, "context_tokens": {"p95": 4000}}
        write_request(stack, load, models=models, **NO_RESERVE)
        one = settings()["sequences at once"]
        assert one["value"] == 44
        assert one["why"].startswith("as many of 4000 tokens (p95 of chat) fit into the GPUs' memory, not 54 (the knee")

    def test_never_so_low_that_nothing_is_ever_added(self, stack: Path) -> None:
        """KEDA adds above 44 in flight a replica: a bound of 42 would be silence."""
        shutil.copytree(CONFIGS, stack / "models")
        change_service(stack, engine={"max_num_seqs": 42})
        models = {"candidates": [{"name": "m", "config": "models/llama-3-8b.json"}]}
        load = {"rps": 20, "request_duration_s": 60, "context_tokens": {"p95": 4200}}
        write_request(stack, load, models=models, **NO_RESERVE)
        found = settings(code=1)
        assert found["sequences at once"]["value"] == 41
        assert found["in flight at one replica at most"]["value"] == "45"

    def test_nothing_is_said_to_fit_that_does_not(self, stack: Path) -> None:
        """70 billion parameters on one GPU leave room for no sequence, and the spec wants more than 40."""
        shutil.copytree(CONFIGS, stack / "models")
        models = {"candidates": [{"name": "m", "config": "models/llama-3-70b.json"}]}
        write_request(stack, {"in_flight": 80, "context_tokens": {"p95": 2000}}, models=models, **NO_RESERVE)
        one = settings(code=1)["sequences at once"]
        assert one["value"] == 41
        assert one["why"] == (
            "more than the 40 in flight, as it must be; "
            "but only 0 of 2000 tokens (p95 of chat) fit into the GPUs' memory"
        )

    def test_the_baseline_has_the_same_reserve(self, stack: Path) -> None:
        survive = {"survive": "zone", "zones": 2, "capacity_after_loss_pct": 100, "near_term_growth_pct": 0}
        write_request(stack, {"in_flight": 80, "largest_minute_jump_pct": 0}, reliability=survive)
        one = settings()["baseline"]
        assert one["value"] == 4  # 1.0335 are 2, and in each of two zones
        assert one["why"] == "usual_load: 1.034 replicas of load, 4 with the reserve"

    def test_without_a_usual_load_the_average_hour_counts(self, stack: Path) -> None:
        edit(stack / "platform.yaml", "    usual_load: {rps: 5.3, request_duration_s: 7.8}\n", "")
        (stack / "events.yaml").write_text("timezone: UTC\nevents: []\n")
        load = {"jobs_per_hour": 3600, "llm_calls_per_run": 1, "retries_pct": 0, "peak_to_average": 3}
        write_request(stack, load | {"request_duration_s": 100}, **NO_RESERVE)
        assert settings()["baseline"]["value"] == 3  # 1 rps x 100 s / 40
        write_request(stack, {"in_flight": 40}, **NO_RESERVE)
        assert {"baseline", "in flight at one replica at most"} & settings().keys() == set()


class TestZones:
    SURVIVE: ClassVar = {"survive": "zone", "capacity_after_loss_pct": 100, "near_term_growth_pct": 0}
    LOAD: ClassVar = {"in_flight": 280, "largest_minute_jump_pct": 0}

    def test_a_zone_that_may_be_lost_is_held_to_its_share(self, stack: Path) -> None:
        write_request(stack, self.LOAD, reliability=self.SURVIVE | {"zones": 3})
        one = settings()["zones"]
        assert (one["place"], one["now"], one["value"]) == (["zones"], None, 3)
        assert one["why"].endswith("if none holds more than its share: DoNotSchedule, maxSkew 1, minDomains 3")
        wish = "support-bot: platform.yaml says no `zones`: so far a wish (ScheduleAnyway)"
        assert wish in run("plan", "-s", "local").stdout
        run("plan", "-s", "local", "--write")
        assert load_platform("local", stack.parent).services["support-bot"].zones == 3
        text = run("plan", "-s", "local").stdout
        assert wish not in text
        assert "support-bot: 4, 4, 3 by zone" in text
        assert "platform.yaml has them all." in text

    def test_zones_of_the_platform_are_not_assumed_again(self, stack: Path) -> None:
        change_service(stack, zones=3)
        write_request(stack, self.LOAD, reliability=self.SURVIVE)
        plan = planned()
        assert (plan["assumptions"], plan["most"]["replicas"]) == ([], 11)

    def test_more_zones_than_asked_stay(self, stack: Path) -> None:
        change_service(stack, zones=3)
        write_request(stack, self.LOAD, reliability=self.SURVIVE | {"zones": 2})
        one = settings()["zones"]
        assert (one["value"], one["changes"]) == (3, False)
        assert one["why"].endswith("; the 3 that are set stay")

    def test_no_zone_to_lose_no_setting(self, stack: Path) -> None:
        write_request(stack, self.LOAD, reliability=self.SURVIVE | {"survive": "node", "zones": 3})
        assert "zones" not in settings()


class TestWrite:
    def test_it_changes_the_values_and_keeps_the_rest(self, stack: Path) -> None:
        before = (stack / "platform.yaml").read_text()
        result = run("plan", "-s", "local", "--write")
        assert "Wrote" in result.stderr
        after = (stack / "platform.yaml").read_text()
        service = load_platform("local", stack.parent).services["support-bot"]
        assert (service.engine.max_num_seqs, service.engine.args) == (54, {"max-num-queued-reqs": "58"})
        gone = [line for line in before.splitlines() if line not in after.splitlines()]
        assert gone == ["      max_num_seqs: 64"]
        assert "      max_num_seqs: 54  # the knee: 40 is 75 % of it" in after
        again = run("plan", "-s", "local")
        assert "platform.yaml has them all." in again.stdout
        unchanged = (stack / "platform.yaml").stat()
        result = run("plan", "-s", "local", "--write")
        assert ("Nothing to change" in result.stderr, "Wrote" in result.stderr) == (True, False)
        assert (stack / "platform.yaml").read_text() == after
        assert (stack / "platform.yaml").stat().st_ino == unchanged.st_ino, "it was replaced by itself"

    def test_without_it_the_diff_is_only_shown(self, stack: Path) -> None:
        before = (stack / "platform.yaml").read_bytes()
        text = run("plan", "-s", "local").stdout
        assert "-      max_num_seqs: 64\n+      max_num_seqs: 54" in text
        assert (stack / "platform.yaml").read_bytes() == before
        assert "```diff\n--- a/" in run("plan", "-s", "local", "-o", "markdown").stdout

    def test_it_lifts_a_ceiling_that_the_pool_has_room_for(self, stack: Path) -> None:
        write_request(stack, {"in_flight": 660}, **NO_RESERVE)
        assert "whose replicas.max is 16" in run("plan", "-s", "local", code=1).stdout
        run("plan", "-s", "local", "--write")
        assert "replicas: {min: 2, max: 17}     # one replica" in (stack / "platform.yaml").read_text()

    @pytest.mark.parametrize(
        ("load", "why"),
        [
            ({"in_flight": 800}, "replicas.max: got 20, expected at most 18 (node pool l40s"),
            ({"in_flight": 720}, "it would still be that pool l40s: 19 nodes are needed"),
        ],
    )
    def test_what_would_not_be_sound_is_not_written(self, stack: Path, load: dict[str, Any], why: str) -> None:
        before = (stack / "platform.yaml").read_bytes()
        write_request(stack, load, **NO_RESERVE)
        text = run("plan", "-s", "local", "--write", code=1).stdout
        assert "! platform.yaml is not written: " in text
        assert why in text
        assert (stack / "platform.yaml").read_bytes() == before

    def test_a_preliminary_plan_is_not_written(self, stack: Path) -> None:
        before = (stack / "platform.yaml").read_bytes()
        write_classes(stack, {"chat": {"active_users": 4}})
        assert "not written: the plan is preliminary" in run("plan", "-s", "local", "--write", code=1).stdout
        assert (stack / "platform.yaml").read_bytes() == before

    def test_a_place_that_an_alias_shares_is_left_to_a_person(self, stack: Path) -> None:
        edit(stack / "platform.yaml", "max_num_seqs: 64", "max_num_seqs: &seqs 64")
        edit(stack / "platform.yaml", "longest_stream_s: 180", "longest_stream_s: *seqs")
        text = run("plan", "-s", "local", "--write", code=1).stdout
        assert "engine.max_num_seqs is shared by an alias; edit it by hand" in text

    def test_a_disk_that_is_full_leaves_the_file_whole(self, stack: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before = (stack / "platform.yaml").read_bytes()

        def full(*_: Any, **__: Any) -> Any:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("tempfile.mkstemp", full)
        assert "not written: no space left on device" in run("plan", "-s", "local", "--write", code=1).stdout
        assert (stack / "platform.yaml").read_bytes() == before

    def test_what_is_written_through_a_link_stays_a_link(self, stack: Path) -> None:
        real = stack.parent / "shared.yaml"
        (stack / "platform.yaml").rename(real)
        (stack / "platform.yaml").symlink_to(real)
        real.chmod(0o640)
        run("plan", "-s", "local", "--write")
        assert (stack / "platform.yaml").is_symlink()
        assert "max_num_seqs: 54" in real.read_text()
        assert real.stat().st_mode & 0o777 == 0o640
