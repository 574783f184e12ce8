"""`warmline prescale now | hold | cancel | release`: what they print, and how they end."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from prescale import clock
from prescale.lead_time.history import NOTHING
from prescale.lead_time.kind import kind_of
from prescale.lead_time.start import Phases, Start
from stacks.loader import load_platform
from tests.cli.prescale_command import run
from tests.cli.stack_folder import edit
from tests.core.api_double import ApiDouble

ORDER = ("support-bot", "--for", "2h", "--reason", "on the news")


def data(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*arguments, "-o", "json").stdout)
    return found


def the_sale_is_on(stacks: Path) -> None:
    edit(stacks / "events.yaml", "2027-10-29 20:00", "2020-10-29 20:00")
    edit(stacks / "events.yaml", "2027-10-30 00:30", "2190-10-30 00:30")


class TestNow:
    def test_says_what_is_in_force_until_when_by_whom_and_why(self, api: ApiDouble) -> None:
        result = run("now", *ORDER, "--floor", "12")
        assert (result.exit_code, api.minimum()) == (0, 12)
        first, second, third = result.stdout.splitlines()
        assert re.fullmatch(
            r"support-bot: minReplicaCount 2 -> 12 \(now-support-bot-\d{8}T\d{4}Z\); in force on the HPA after \S+ s",
            first,
        )
        assert re.fullmatch(
            r"  now-\S+: support-bot has at least 12 until \S+ \S+ Asia/Kolkata \(.+Z\); \S+, as \S+: on the news",
            second,
        )
        assert re.fullmatch(
            r"what has to be started is Ready by .+ if it takes the 300 s of a cold start at p95 by platform.yaml",
            third,
        )

    def test_ready_by_what_starts_took_here_and_that_it_is_over_before(self, api: ApiDouble) -> None:
        platform, now = load_platform("local"), clock.now()
        kind = kind_of(platform.services["support-bot"], platform.node_pools["l40s"])
        took = Start(kind, now.subtract(hours=1), "x2x4z", 400, Phases(1, 17, 120, 262, 0))
        api.config_maps["warmline-starts-local"] = {
            "metadata": {"name": "warmline-starts-local", "namespace": "serving", "resourceVersion": "1"},
            "data": NOTHING.with_seen({"support-bot": [took]}, 1, now).data(),
        }
        said = run("now", "support-bot", "--reason", "x", "--floor", "12", "--for", "6m").stdout
        assert re.search(
            r"if it takes the 400 s of a cold start at p95 by what the cluster did; the order is over", said
        )
        longer = run("now", "support-bot", "--reason", "x", "--floor", "13", "--for", "7m").stdout
        assert longer.endswith("the 400 s of a cold start at p95 by what the cluster did\n")

    def test_as_data(self, api: ApiDouble) -> None:
        found = data("now", *ORDER, "--floor", "12")
        (order,) = found["orders"]
        assert (order["kind"], order["service"], order["floor"], order["reason"]) == (
            "now",
            "support-bot",
            12,
            "on the news",
        )
        assert (found["findings"], found["gpu_shortages"], found["services"][0]["target"]) == ([], [], 12)

    def test_dry_run_writes_nothing(self, api: ApiDouble) -> None:
        result = run("now", *ORDER, "--floor", "12", "--dry-run")
        assert (result.exit_code, api.config_maps, api.patches) == (0, {}, [])
        assert "would be patched: 2 -> 12" in result.stdout

    def test_above_the_ceiling_is_a_finding(self, api: ApiDouble) -> None:
        result = run("now", *ORDER, "--floor", "17")
        assert (result.exit_code, api.config_maps) == (1, {})
        assert "! a floor of 17 was refused, it is above the live ceiling of 16. Nothing was ordered." in result.stdout

    def test_a_pool_that_is_too_small_is_told_and_the_floor_raised(self, api: ApiDouble, stacks: Path) -> None:
        edit(stacks / "platform.yaml", "max_nodes: 18", "max_nodes: 16")
        text = (stacks / "platform.yaml").read_text()
        second = text[text.index("  support-bot:") :].replace("support-bot:", "fraud-bot:")
        (stacks / "platform.yaml").write_text(text + second.replace("name: support-8b", "name: fraud-8b"))
        result = run("now", *ORDER, "--floor", "15")
        assert (result.exit_code, api.minimum()) == (1, 15)
        assert re.search(
            r"! pool l40s: the floors of now-\S+ need 17 GPUs from .+, its nodes have at most 16", result.stdout
        )
        proposed = data("now", *ORDER, "--floor", "5", "--dry-run")
        assert proposed["gpu_shortages"][0]["needed"] == 17, "beside the other"

    def test_until_a_time(self, api: ApiDouble) -> None:
        end = clock.now().add(hours=3).to_tz("Asia/Kolkata").to_plain().format_iso()[:16]
        assert run("now", "support-bot", "--floor", "5", "--until", end, "--reason", "x").exit_code == 0
        (order,) = api.orders().values()
        assert order["until"] == clock.moment(end, "Asia/Kolkata").format_iso()

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (
                ("support-bt", "--floor", "5", "--for", "1h", "--reason", "x"),
                "no service support-bt. Near it: support-bot",
            ),
            (("support-bot", "--floor", "5", "--reason", "x"), "Say how long: --for 2h, or --until TIME"),
            (
                ("support-bot", "--floor", "5", "--for", "1h", "--until", "2027-01-01 10:00", "--reason", "x"),
                "Say how long",
            ),
            (
                ("support-bot", "--floor", "5", "--for", "2d", "--reason", "x"),
                "write hours and minutes, as 2h, 90m or 1h30m",
            ),
            (("support-bot", "--floor", "5", "--for", "999h", "--reason", "x"), "not within 1m and 744h"),
            (
                ("support-bot", "--floor", "5", "--until", "2020-01-01 10:00", "--reason", "x"),
                "not within the next 31 days",
            ),
            (
                ("support-bot", "--floor", "5", "--until", "2190-01-01 10:00", "--reason", "x"),
                "not within the next 31 days",
            ),
            (("support-bot", "--floor", "5", "--until", "soon", "--reason", "x"), "Write 2027-10-29T14:30:00Z"),
            (("support-bot", "--floor", "0", "--for", "1h", "--reason", "x"), "not in the range x>=1"),
            (("support-bot", "--floor", "5", "--for", "1h"), "Missing option '--reason'"),
            (("support-bot", "--floor", "5", "--for", "1h", "--reason", " "), "it is empty"),
            (("support-bot", "--floor", "5", "--for", "1h", "--reason", "x" * 201), "at most 200 are kept"),
        ],
    )
    def test_what_is_no_order(self, api: ApiDouble, arguments: tuple[str, ...], said: str) -> None:
        result = run("now", *arguments)
        assert (result.exit_code, api.requests) == (2, [])
        assert said in " ".join(result.stderr.split())


class TestHold:
    def test_keeps_what_runs(self, api: ApiDouble) -> None:
        api.running = {"keda-hpa-support-bot": 9}
        result = run("hold", *ORDER)
        assert (result.exit_code, api.minimum()) == (0, 9)
        assert "support-bot is held at 9 until" in result.stdout


class TestCancel:
    def test_lets_go_of_an_event_that_is_on(self, api: ApiDouble, stacks: Path) -> None:
        the_sale_is_on(stacks)
        assert (run("sync").exit_code, api.minimum()) == (1, 7), "years late"
        result = run("cancel", "diwali-sale", "--reason", "sale is off")
        assert (result.exit_code, api.minimum()) == (0, 2)
        assert "diwali-sale is off for every service until 2190-10-30 00:30 Asia/Kolkata" in result.stdout
        assert "diwali-sale: let go, cancelled by" in result.stdout
        assert run("sync").stdout.splitlines()[0] == "support-bot: minReplicaCount stays 2 (the baseline)"
        assert run("cancel", "diwali-sale", "--undo").exit_code == 0
        assert api.minimum() == 7

    def test_what_is_cancelled_is_not_told_as_the_next(self, api: ApiDouble) -> None:
        assert "next 7 for diwali-sale" in run("sync").stdout
        run("cancel", "diwali-sale", "--reason", "x")
        assert "next" not in run("sync").stdout

    def test_one_that_repeats_asks_which(self, api: ApiDouble, stacks: Path) -> None:
        edit(stacks / "events.yaml", "2027-10-30 00:30", "2027-10-30 00:30\n    repeat: {rule: FREQ=DAILY}")
        result = run("cancel", "diwali-sale", "--reason", "x")
        assert result.exit_code == 2
        assert "diwali-sale repeats. Say which one: diwali-sale@2027-10-29" in " ".join(result.stderr.split())
        assert run("cancel", "diwali-sale@2027-10-29", "--reason", "x").exit_code == 0

    def test_a_name_that_nothing_has(self, api: ApiDouble) -> None:
        result = run("cancel", "diwali", "--reason", "x")
        assert (result.exit_code, api.config_maps) == (2, {})
        said = " ".join(result.stderr.split())
        assert "no event or order diwali counts now or later. Near it: diwali-sale. Nothing was changed." in said

    @pytest.mark.parametrize(
        "arguments", [(), ("--undo", "--reason", "x"), ("--undo", "--service", "support-bot")], ids=str
    )
    def test_words_that_do_not_go_together(self, api: ApiDouble, arguments: tuple[str, ...]) -> None:
        result = run("cancel", "diwali-sale", *arguments)
        assert (result.exit_code, api.requests) == (2, [])


class TestRelease:
    def test_of_a_service(self, api: ApiDouble, stacks: Path) -> None:
        the_sale_is_on(stacks)
        run("now", *ORDER, "--floor", "12")
        result = run("release", "support-bot")
        assert (result.exit_code, api.minimum()) == (0, 7)
        assert "is off for support-bot until" in result.stdout
        assert "support-bot has at least 12" not in result.stdout, "it counts no more"

    def test_all(self, api: ApiDouble) -> None:
        run("now", *ORDER, "--floor", "12")
        result = run("release", "--all")
        assert (result.exit_code, api.minimum(), api.config_maps, api.record()) == (0, 2, {}, None)
        assert "a runner that still runs raises again what the calendar asks for: remove it" in result.stdout

    def test_all_while_an_event_is_active(self, api: ApiDouble, stacks: Path) -> None:
        the_sale_is_on(stacks)
        run("sync")
        result = run("release", "--all")
        assert (result.exit_code, api.minimum()) == (1, 7)
        assert result.stdout == (
            "! diwali-sale is active: nothing was let go. To let go even so, add --even-during diwali-sale.\n"
        )
        assert run("release", "--all", "--even-during", "diwali-sale").exit_code == 0
        assert api.minimum() == 2

    def test_all_without_a_baseline(self, api: ApiDouble) -> None:
        api.objects["support-bot"]["metadata"]["annotations"].clear()
        result = run("release", "--all")
        assert (result.exit_code, api.patches) == (1, [])
        assert "! the annotation warmline.dev/baseline is missing" in result.stdout

    @pytest.mark.parametrize(
        "arguments", [(), ("support-bot", "--all"), ("support-bot", "--even-during", "x"), ("other",)], ids=str
    )
    def test_words_that_do_not_go_together(self, api: ApiDouble, arguments: tuple[str, ...]) -> None:
        result = run("release", *arguments)
        assert (result.exit_code, api.requests) == (2, [])


class TestSeen:
    def test_by_sync(self, api: ApiDouble) -> None:
        run("now", *ORDER, "--floor", "12")
        (service,) = data("sync")["services"]
        (order,) = service["orders"]
        assert (order["kind"], order["reason"], order["floor"]) == ("now", "on the news", 12)
        assert "support-bot has at least 12 until" in run("sync").stdout

    def test_by_status(self, api: ApiDouble) -> None:
        run("now", *ORDER, "--floor", "12")
        found = data("status")
        assert (found["orders"][0]["kind"], found["services"][0]["floor"]) == ("now", 12)
        assert found["services"][0]["event"] == found["orders"][0]["name"]
        assert "support-bot has at least 12 until" in run("status").stdout

    def test_by_status_of_a_time_when_it_is_over(self, api: ApiDouble) -> None:
        run("now", *ORDER, "--floor", "12")
        found = data("status", "--at", "2027-10-01 10:00")
        assert (found["orders"], found["services"][0]["floor"]) == ([], 2)

    def test_a_cancelled_event_is_no_floor_to_be_warm_for(self, api: ApiDouble, stacks: Path) -> None:
        the_sale_is_on(stacks)
        run("cancel", "diwali-sale", "--reason", "x")
        (service,) = data("status")["services"]
        assert (service["floor"], service["event"]) == (2, None)


@pytest.mark.parametrize(
    "arguments",
    [("now", *ORDER, "--floor", "5"), ("hold", *ORDER), ("cancel", "x", "--reason", "x"), ("release", "--all")],
    ids=lambda arguments: arguments[0],
)
class TestInTrouble:
    def test_out_of_reach(
        self, stacks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
    ) -> None:
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))
        result = run(*arguments)
        assert result.exit_code == 3
        assert "Nothing was changed." not in result.stdout

    def test_a_calendar_with_a_fault(self, api: ApiDouble, stacks: Path, arguments: tuple[str, ...]) -> None:
        edit(stacks / "events.yaml", "Asia/Kolkata", "IST")
        result = run(*arguments)
        assert (result.exit_code, api.requests) == (2, [])
        assert "not the abbreviation" in result.stderr

    def test_before_the_first_pulumi_up(self, api: ApiDouble, arguments: tuple[str, ...]) -> None:
        api.objects.clear()
        result = run(*arguments)
        assert result.exit_code == (2 if arguments[0] == "cancel" else 1)
        assert api.config_maps == {}
