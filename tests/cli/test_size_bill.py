"""What a plan takes to buy, through `warmline size plan`: unknowns said, and sums that are the bill."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cli.main import warmline
from tests.cli.stack_folder import copied_stacks, edit

CHAT = """\
workloads:
  chat:
    service: support-bot
    profile: {classes: {chat: {rps: 35, request_duration_s: 8, exact_cache_hit_pct: 0, growth_pct: 0,
      largest_minute_jump_pct: 0}}}
    reliability: {survive: zone, zones: 3, near_term_growth_pct: 0}
"""

G6E = "g6e.2xlarge (1 GPU each)"

SHARED = """\
workloads:
  chat:
    service: support-bot
    product: {execution: interactive}
    profile:
      classes:
        chat:
          active_users: 900
          runs_per_user_hour: 6
          llm_calls_per_run: 20
          retries_pct: 0
          peak_to_average: 3
          request_duration_s: 7.8
          input_tokens: {mean: 900}
          output_tokens: {mean: 400}
          exact_cache_hit_pct: 0
          prefix_cache_hit_pct: 20
          growth_pct: 0
          per_replica: {in_flight: 40, output_tokens_per_s: 12000, prefill_tokens_per_s: 50000,
            evidence: benchmarks/support-8b-l40s.md, kind: illustrative}
    reliability: {headroom_pct: 0}
  night:
    service: support-bot
    product: {execution: batch}
    profile: {classes: {jobs: {rps: 20, request_duration_s: 10, exact_cache_hit_pct: 0, growth_pct: 0}}}
    reliability: {headroom_pct: 0}
"""


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = copied_stacks(tmp_path)
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
    return root / "local"


def run(*arguments: str) -> Result:
    return CliRunner().invoke(warmline, ["size", "plan", "-s", "local", *arguments])


def data(*arguments: str) -> Any:
    result = run("-o", "json", *arguments)
    found = json.loads(result.stdout)
    assert result.exit_code == (1 if found["findings"] else 0), result.output
    return found


def row(text: str, start: str) -> list[str]:
    (found,) = [line for line in text.splitlines() if line.startswith(start)]
    return found.split()


def test_the_sale(stack: Path) -> None:
    result = run()
    assert result.exit_code == 0, result.output
    assert row(result.stdout, "at the peak") == ["at", "the", "peak", "7", "not", "said", "7", "0", "56"]
    assert "quota: 64 vCPUs of Running On-Demand G and VT instances (L-DB2E81BA)" in result.stdout
    assert row(result.stdout, "on_demand") == ["on_demand", "2.24208", "3,273.44", "11,457.03", "15.69"]
    assert "2.24208 is of 2026-07-20: https://github.com/aws/karpenter-provider-aws/" in result.stdout
    assert "reserved_1y, reserved_3y, savings_plan_1y, savings_plan_3y: unknown; `warmline size prices --region " in (
        result.stdout
    )
    assert "--refresh --write` asks AWS, what you pay instead belongs in prices.yaml" in result.stdout


def test_the_answer_comes_first(stack: Path) -> None:
    lines = run().stdout.splitlines()
    assert lines[1:3] == [
        "support-bot: 7 replicas of support-bot, 1 GPU each",
        f"pool l40s: 7 nodes of {G6E} at the peak, 8 while all roll out; $3,273.44 to $11,457.03 a month on demand",
    ]


def test_a_preliminary_plan_is_priced_at_both_ends(stack: Path) -> None:
    edit(stack / "workloads.yaml", "      headroom_pct: 30\n", "")
    text = run().stdout  # 20 to 40 % of headroom: 6.2478 to 7.2891 replicas
    assert "pool l40s: 7 to 8 nodes of g6e.2xlarge (1 GPU each) at the peak, 8 to 9 while all roll out; " in text
    assert "$3,273.44 to $13,093.75 a month on demand" in text
    (pool,) = data()["pools"]
    assert pool["at_least"] == {"nodes_at_peak": 7, "usd_per_month_most": pytest.approx(11457.0288)}


@pytest.mark.parametrize("output", ["markdown", "html", "yaml"])
def test_every_output_has_the_money(stack: Path, output: str) -> None:
    text = run("-o", output).stdout
    assert "L-DB2E81BA" in text
    assert ("11457.0288" if output == "yaml" else "11,457.03") in text
    if output != "yaml":
        for title in ("Nodes of pool l40s", "Money of pool l40s", "Who pays for pool l40s", "Money per token"):
            assert title in text


def test_a_page_without_a_price_has_no_picture_of_money(stack: Path) -> None:
    assert run("-o", "html").stdout.count("<svg") == 2
    (stack / "prices.yaml").unlink()
    page = run("-o", "html").stdout
    assert page.count("<svg") == 1
    assert "$ a month unknown" in page


def test_base_7_over_3_zones_of_which_one_may_be_lost_is_11(stack: Path) -> None:
    (stack / "workloads.yaml").write_text(CHAT)
    text = run().stdout
    assert "support-bot: 4, 4, 3 by zone; 10 of 11 remain when a node is lost, 7 when a zone is" in text
    assert (
        "{maxSkew: 1, minDomains: 3, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: DoNotSchedule}"
        in text
    )
    (pool,) = data()["pools"]
    assert pool["at_peak"]["replicas_by_zone"] == {"support-bot": [4, 4, 3]}
    assert pool["topology_spread"]["minDomains"] == 3
    assumed = {"daemonset_pods": 6, "daemonset_pods_assumed": True}
    assert pool["subnet"] == {"nodes": 4, "addresses": 120, "mask": 25, "addresses_per_node": 30, **assumed}


def test_pods_of_daemonsets_are_assumed_until_they_are_said(stack: Path) -> None:
    told = "beside its replicas a node has 6 pods of daemonsets"
    assert f"{told}, which is assumed (--daemonset-pods says it)\n" in run().stdout
    assert f"{told}\n" in run("--daemonset-pods", "6").stdout
    assert "which is assumed (--" in run("-o", "markdown").stdout
    # 1 + 16 pods are two interfaces of 14 for pods, and one kept warm: 45 addresses on each of 8 nodes.
    (pool,) = data("--daemonset-pods", "16")["pools"]
    said = {"daemonset_pods": 16, "daemonset_pods_assumed": False}
    assert pool["subnet"] == {"nodes": 8, "addresses": 360, "mask": 23, "addresses_per_node": 45, **said}


def test_a_month_begins_at_the_baseline_that_the_plan_has(stack: Path) -> None:
    """1.03 replicas usually, 3.5 that may come while one starts, and a pod that may be lost: 6, of which 2 are set."""
    risen = CHAT.replace("largest_minute_jump_pct: 0", "largest_minute_jump_pct: 10, burst_duration_s: 600")
    (stack / "workloads.yaml").write_text(risen.replace("survive: zone, zones: 3", "survive: pod"))
    found = data()
    (baseline,) = [one["value"] for one in found["settings"] if one["name"] == "baseline"]
    assert (baseline, found["pools"][0]["at_baselines"]["nodes"]) == (6, 6)
    assert found["pools"][0]["ways"][0]["usd_per_month_least"] == pytest.approx(6 * 730 * 2.24208)
    (stack / "workloads.yaml").write_text(CHAT.replace("survive: zone, zones: 3", "survive: pod"))
    assert "; $3,273.44 to $" in run().stdout, "of a range the other end begins at what is set"


def test_an_unknown_price_is_said_with_what_to_do(stack: Path) -> None:
    (stack / "prices.yaml").unlink()
    result = run()
    assert result.exit_code == 0
    assert row(result.stdout, "on_demand") == ["on_demand", "unknown", "unknown", "unknown", "unknown"]
    assert "every price is unknown: prices.yaml says no region; write `region: us-east-1`" in result.stdout
    (pool,) = data()["pools"]
    assert pool["ways"][0]["usd_per_month_most"] is None
    assert pool["at_peak"]["nodes"] == 7


def test_another_region_is_unknown_and_never_guessed(stack: Path) -> None:
    result = run("--region", "eu-west-1")
    assert row(result.stdout, "on_demand") == ["on_demand", "unknown", "unknown", "unknown", "unknown"]
    assert (
        "the price of g6e.2xlarge in eu-west-1 is unknown, and none is taken from another region: `warmline size "
        "prices --region eu-west-1 --refresh --write` asks AWS"
    ) in result.stdout
    (pool,) = data("--region", "eu-west-1")["pools"]
    assert (pool["region"], pool["ways"][0]["usd_per_month_most"]) == ("eu-west-1", None)
    assert pool["unknown_terms"] == ["reserved_1y", "reserved_3y", "savings_plan_1y", "savings_plan_3y"]


def test_a_savings_plan_of_the_stacks_own(stack: Path) -> None:
    (stack / "prices.yaml").write_text(
        "region: us-east-1\n"
        "sources: {agreement: {address: page 4, date: 2026-03-01}}\n"
        "instance_types: {g6e.2xlarge: {savings_plan_1y: {usd_per_h: 1.12104, source: agreement}}}\n"
    )
    text = run().stdout
    # Half the price: it pays from half of the month's hours on.
    assert row(text, "savings_plan_1y") == ["savings_plan_1y", "1.12104", "1,636.72", "9,820.31", "13.45", "365"]
    assert "1.12104 is of 2026-03-01: page 4" in text


def test_tokens_as_measured_at_the_peak_and_on_average(stack: Path) -> None:
    (stack / "workloads.yaml").write_text(SHARED)
    found = data("--workload", "chat", "--api-usd-per-million", "0.25", "1.25")
    (request,) = found["workloads"]
    tokens = request["usd_per_million_output_tokens"]
    assert found["findings"][-1:] == ["pool l40s: 19 nodes are needed, rollouts included; its max_nodes is 18"]
    # 900 x 6 x 20 calls an hour are 30 a second, 90 at the peak: 702 in flight, 18 replicas of 40.
    assert found["pools"][0]["at_peak"]["nodes"] == 18
    usd_per_h = 18 * 2.24208
    assert tokens["measured"] == pytest.approx(usd_per_h / (18 * 12000 * 3600) * 10**6)
    assert tokens["at_peak"] == pytest.approx(usd_per_h / (90 * 400 * 3600) * 10**6)
    assert tokens["on_average"] == pytest.approx(3 * tokens["at_peak"])
    assert tokens["average_pct"] == pytest.approx(100 * 30 * 400 / (18 * 12000))
    month = request["api"]
    assert month["own_usd_per_month"] == pytest.approx(usd_per_h * 730)
    millions = 30 * 730 * 3600 / 10**6
    assert month["api_usd_per_month"] == pytest.approx(millions * (900 * 0.8 * 0.25 + 400 * 1.25))
    assert month["break_even_output_tokens_per_month"] == pytest.approx(
        millions * 400 * 10**6 * month["own_usd_per_month"] / month["api_usd_per_month"]
    )


def test_an_api_that_is_cheaper_than_all_the_replicas_can_put_out(stack: Path) -> None:
    """18 replicas put out 567,648 million tokens in a month; at a tenth of a cent they would have to put out more."""
    (stack / "workloads.yaml").write_text(SHARED)
    cheap = ("--workload", "chat", "--api-usd-per-million", "0.01", "0.02")
    month = data(*cheap)["workloads"][0]["api"]
    assert month["carried_output_tokens_per_month"] == 18 * 12000 * 730 * 3600
    assert month["break_even_output_tokens_per_month"] > month["carried_output_tokens_per_month"]
    assert month["break_even_is_carried"] is False
    text = run(*cheap).stdout
    assert "never, at this many replicas" in text
    assert "at their number all month the replicas put out 567,648 million; the API would cost as much at " in text
    dear = ("--workload", "chat", "--api-usd-per-million", "0.25", "1.25")
    assert data(*dear)["workloads"][0]["api"]["break_even_is_carried"] is True
    assert "never" not in run(*dear).stdout


def test_what_is_not_said_is_unknown_beside_an_api(stack: Path) -> None:
    text = run("--api-usd-per-million", "0.25", "1.25").stdout
    assert row(text[text.index("Against") :], "unknown  ") == ["unknown", "unknown", "unknown"]
    assert "unknown: it takes mean input and output lengths, prefix_cache_hit_pct, and an average load" in text
    assert data("--api-usd-per-million", "0.25", "1.25")["workloads"][0]["api"] is None


def test_a_peak_and_the_mean_of_its_month(stack: Path) -> None:
    edit(stack / "workloads.yaml", "exact_cache_hit_pct: 0 ", "average_pct: 25\n          exact_cache_hit_pct: 0 ")
    tokens = data()["workloads"][0]["usd_per_million_output_tokens"]
    assert tokens["at_peak"] == pytest.approx(7 * 2.24208 / (26.7 * 400 * 3600) * 10**6)
    assert tokens["on_average"] == pytest.approx(4 * tokens["at_peak"])


def test_requests_that_share_a_service_and_all_come_at_once(stack: Path) -> None:
    (stack / "workloads.yaml").write_text(SHARED)
    (one,) = data()["shared"]
    # 18 and 5 replicas are wanted, the ceiling is 16.
    assert (one["replicas"], one["capacity_in_flight"], one["quotas_in_flight"]) == (16, 640, 920)
    assert one["over_commit"] == 1.4375
    chat, night = one["requests"]
    assert (chat["request"], chat["quota"], chat["at_peak"], chat["crowded_out"]) == ("chat", 720, 640, 62)
    assert (night["request"], night["quota"], night["at_peak"], night["crowded_out"]) == ("night", 200, 0, 200)
    assert (chat["guaranteed"], night["guaranteed"], chat["unordered"]) == (640, 0, 440)
    assert "envelope: 16 replicas x 40 = 640 in flight; quotas together 920, 1.44 times it" in run().stdout


def quotas(stack: Path, chat: str, night: str) -> Any:
    text = SHARED.replace("reliability: {headroom_pct: 0}", "reliability: {headroom_pct: 0, CHAT}", 1)
    text = text.replace("reliability: {headroom_pct: 0}", "reliability: {headroom_pct: 0, NIGHT}")
    (stack / "workloads.yaml").write_text(text.replace("CHAT", chat).replace("NIGHT", night))
    found = data()
    (one,) = found["shared"]
    return one["requests"], found["findings"]


def test_a_request_says_its_own_quota_and_priority(stack: Path) -> None:
    (chat, night), told = quotas(stack, "quota_in_flight: 560, priority: 1", "quota_in_flight: 300, priority: 3")
    assert (chat["priority"], night["priority"]) == (1, 3)
    assert (chat["quota"], chat["over_quota"], chat["at_peak"]) == (560, 142, 440)
    assert (night["quota"], night["at_peak"], night["guaranteed"]) == (300, 200, 300)
    assert (
        "chat: reliability.quota_in_flight is 560, below its own projected peak of 702: 142 of it are refused" in told
    )
    first = [line for line in run().stdout.splitlines() if line.startswith("service support-bot: ")]
    said = "the quotas of its requests are 1.34 times what it carries; when all peak, 262 in flight are refused"
    assert first == [f"service support-bot: {said}"]


def test_shares_divide_what_quotas_leave(stack: Path) -> None:
    (chat, night), _ = quotas(stack, "share: 3", "quota_in_flight: 200, priority: 2")
    assert (chat["share"], night["share"]) == (3, 1)
    assert (chat["quota"], night["quota"]) == (440, 200)  # 640 less 200
    (chat, night), _ = quotas(stack, "share: 3", "share: 1, priority: 2")
    assert (chat["quota"], night["quota"]) == (480, 160)


def test_isolation_that_does_not_hold_beside_the_others(stack: Path) -> None:
    _, told = quotas(stack, "isolation: dedicated", "isolation: shared")
    assert "chat: reliability.isolation is dedicated, but night ask for support-bot, too" in told
    _, told = quotas(stack, "isolation: shared", "isolation: reserved")
    assert any(
        text.startswith("night: reliability.isolation is reserved, but with chat at their quotas 200 of its peak")
        for text in told
    )
    _, told = quotas(stack, "isolation: shared", "isolation: reserved, priority: 3")
    assert not any("isolation" in text for text in told)


def test_other_services_of_the_pool_hold_their_baseline(stack: Path) -> None:
    platform = (stack / "platform.yaml").read_text()
    other = platform[platform.index("  support-bot:") :].replace("support-bot:", "fraud-bot:")
    other = other.replace("owner: support-platform", "owner: risk\n    cost_center: cc-20")
    (stack / "platform.yaml").write_text(platform + other.replace("name: support-8b", "name: fraud-8b"))
    (pool,) = data()["pools"]
    assert pool["at_peak"]["replicas_by_zone"] == {"support-bot": [7], "fraud-bot": [2]}
    assert [one["cost_center"] for one in pool["by_cost_center"]] == [None, "cc-20"]
    assert [one["owner"] for one in pool["by_owner"]] == ["support-platform", "risk"]
    assert pool["by_owner"][1]["usd_per_month_most"] == pytest.approx(2 * 730 * 2.24208)


def test_more_nodes_than_the_pool_may_have_is_a_finding(stack: Path) -> None:
    edit(stack / "platform.yaml", "instance_types: [g6e.2xlarge]", "instance_types: [g6e.12xlarge]")
    edit(stack / "benchmarks" / "serving.yaml", "instance_type: g6e.2xlarge", "instance_type: g6e.12xlarge")
    edit(stack / "platform.yaml", "max_nodes: 18", "max_nodes: 4")
    (stack / "workloads.yaml").write_text(
        CHAT.replace("rps: 35", "rps: 45")
    )  # 14, of which 9 remain, and 1 to roll out
    result = run()
    assert result.exit_code == 1, result.output
    assert result.stdout.endswith("! pool l40s: 6 nodes are needed, rollouts included; its max_nodes is 4\n"), (
        result.stdout
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--api-usd-per-million", "cheap", "1"), "'cheap' is no price in dollars, as 2.50 is one."),
        (("--api-usd-per-million", "-1", "1"), "'-1' is no price in dollars"),
        (("--api-usd-per-million", "nan", "1"), "'nan' is no price in dollars"),
        (("--workload", "nobody"), "nobody is none of the requests: support-bot."),
        (("--region", "Virginia"), "'Virginia' is no AWS Region"),
    ],
)
def test_bad_arguments(stack: Path, arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(rps=st.decimals("0.1", 60, places=1), zones=st.integers(2, 4), more=st.decimals("0.1", 20, places=1))
def test_more_load_never_costs_less(stack: Path, rps: Any, zones: int, more: Any) -> None:
    def month(load: Any) -> float:
        text = CHAT.replace("rps: 35", f"rps: {load}").replace("zones: 3", f"zones: {zones}")
        (stack / "workloads.yaml").write_text(text)
        (pool,) = data()["pools"]
        peak = pool["at_peak"]["replicas_by_zone"]["support-bot"]
        assert (sum(peak) - max(peak)) * 40 >= load * 8
        assert sum(each["usd_per_month_most"] for each in pool["by_owner"]) == pytest.approx(
            pool["ways"][0]["usd_per_month_most"]
        )
        usd: float = pool["ways"][0]["usd_per_month_most"]
        return usd

    assert month(rps) <= month(rps + more)
