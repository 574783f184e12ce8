"""`warmline prescale sync` and `status` from the command line to the API server's HTTP, and what they cost to start."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from whenever import ZonedDateTime

from cli.main import warmline
from prescale import clock
from tests.cli.prescale_command import RAISED, run
from tests.cli.stack_folder import edit
from tests.core.api_double import ApiDouble
from tests.core.test_warmth import pod


class TestSync:
    def test_before_the_raise_it_does_nothing(self, api: ApiDouble) -> None:
        result = run("sync")
        assert (result.exit_code, api.patches) == (0, [])
        assert result.output == (
            "support-bot: minReplicaCount stays 2 (the baseline); next 7 for diwali-sale at 2027-10-29 19:30 "
            "Asia/Kolkata (14:00Z)\n"
        )

    def test_dry_run_shows_the_patch_and_sends_none(self, api: ApiDouble) -> None:
        result = run("sync", "--dry-run", "--at", "2027-10-29 19:30")
        assert (result.exit_code, api.patches) == (0, [])
        assert "would be patched: 2 -> 7 (diwali-sale)" in result.output
        assert '"spec": {"minReplicaCount": 7}' in result.output

    def test_at_needs_dry_run(self, api: ApiDouble) -> None:
        result = run("sync", "--at", RAISED)
        assert (result.exit_code, api.requests) == (2, [])
        assert "--dry-run" in result.output

    def test_raises_an_event_that_is_on_and_says_how_late(self, api: ApiDouble, stacks: Path) -> None:
        starts = self.now(stacks, since_min=5.5)
        ready = [clock.now().add(seconds=300 + off_s).to_tz("Asia/Kolkata") for off_s in (-2, 2)]
        result = run("sync", "-o", "json")
        (service,) = json.loads(result.output)["services"]
        assert (result.exit_code, api.minimum()) == (1, 7)
        assert (service["was"], service["target"], service["patched"], service["events"]) == (
            2,
            7,
            True,
            ["diwali-sale"],
        )
        assert service["in_force_s"] is not None
        (finding,) = service["findings"]
        told = re.fullmatch(
            r"diwali-sale: ready about (?:\S+ )?(\d\d:\d\d), 10 min late for (\d\d:\d\d) Asia/Kolkata: 0 of 7 Ready, "
            r"a start takes 300 s by platform.yaml. `warmline prescale watch` shows how far they are.",
            finding,
        )
        assert told, finding
        assert told[2] == starts.format_iso()[11:16]
        assert told[1] in {moment.format_iso()[11:16] for moment in ready}

    def test_late_until_it_is_ready_and_then_not_looked_at_any_more(self, api: ApiDouble, stacks: Path) -> None:
        self.now(stacks)
        api.pods = [pod(f"p{n}", ready=n < 6) for n in range(7)]
        assert [run("sync").exit_code for _ in range(2)] == [1, 1]
        api.pods = [pod(f"p{n}") for n in range(7)]
        assert run("sync").exit_code == 0
        api.requests.clear()
        api.pods = []
        assert run("sync").exit_code == 0, "what came in time and is gone is another matter: status and alerts tell it"
        assert len(api.requests) == 3

    def test_raised_in_time_is_no_finding(self, api: ApiDouble, stacks: Path) -> None:
        self.now(stacks, since_min=-15)
        result = run("sync")
        assert (result.exit_code, api.minimum()) == (0, 7)
        assert "!" not in result.output

    def test_a_finding_exits_1(self, api: ApiDouble, stacks: Path) -> None:
        self.now(stacks)
        api.keda_works = False
        result = run("sync")
        assert result.exit_code == 1
        assert "! the floor is not in force" in result.output

    @staticmethod
    def now(stacks: Path, since_min: float = 9999) -> ZonedDateTime:
        """The sale is on since so many minutes ago, and until long after: its start."""
        start = clock.now().subtract(minutes=since_min).to_tz("Asia/Kolkata")
        edit(stacks / "events.yaml", "2027-10-29 20:00", start.to_fixed_offset().format_iso())
        edit(stacks / "events.yaml", "2027-10-30 00:30", "2190-10-30 00:30")
        return start


class TestStatus:
    def test_not_warm_says_what_is_missing_and_by_when(self, api: ApiDouble) -> None:
        result = run("status", "--at", RAISED)
        assert result.exit_code == 1
        assert result.output.splitlines()[:2] == [
            "support-bot: NOT warm; floor 7 (diwali-sale); HPA minReplicas 2, 0 Ready, 0 answering",
            (
                "! missing: HPA minReplicas is 2 of 7; 0 of 7 Ready; "
                "ready by 2027-10-29 19:35 Asia/Kolkata (14:05Z), 25 min early for 20:00"
            ),
        ]

    def test_warm(self, api: ApiDouble, monkeypatch: pytest.MonkeyPatch) -> None:
        from prescale import asking

        api.pods = [pod(f"p{n}") for n in range(2)]
        monkeypatch.setattr(asking, "asker", lambda *_: lambda pods: dict.fromkeys(state.name for state, _ in pods))
        result = run("status", "-o", "json")
        assert result.exit_code == 0
        data: dict[str, Any] = json.loads(result.output)
        assert (data["warm"], data["services"][0]["answering"]) == (True, 2)


@pytest.mark.parametrize("command", [("sync",), ("status",), ("sync", "--dry-run")])
def test_before_the_first_pulumi_up(api: ApiDouble, command: tuple[str, ...]) -> None:
    api.objects.clear()
    result = run(*command)
    assert result.exit_code == 1
    assert "nothing of stack local is in namespace serving of https://api.example:6443" in result.stdout
    assert "Run `pulumi up -s local`, or name another context" in result.stdout
    (service,) = json.loads(run(*command, "-o", "json").stdout)["services"]
    said = service["notes"] if command == ("status",) else service["findings"]
    assert "Run `pulumi up -s local`" in said[0]


@pytest.mark.parametrize("command", [("sync",), ("status",), ("sync", "--dry-run")])
class TestOutOfReach:
    def test_nobody_at_the_address(
        self, stacks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
    ) -> None:
        config = tmp_path / "config"
        config.write_text(
            "current-context: warmline-sandbox\n"
            "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
            "contexts: [{name: warmline-sandbox, context: {cluster: c, user: u}}]\n"
            "users: [{name: u, user: {token: t}}]\n"
        )
        monkeypatch.setenv("KUBECONFIG", str(config))
        result = run(*command)
        assert result.exit_code == 3
        assert "https://127.0.0.1:1: out of reach:" in result.output
        assert "Nothing was changed." in result.output

    def test_a_kubeconfig_that_cannot_be_used_is_bad_input(
        self, stacks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
    ) -> None:
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
        (tmp_path / "config").write_text("contexts: [{name: other}]\n")
        result = run(*command)
        assert result.exit_code == 2
        assert "config:1: contexts: got no context 'warmline-sandbox', expected one of the contexts" in result.stderr

    def test_a_credential_plugin_that_fails(
        self, stacks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]
    ) -> None:
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
        (tmp_path / "config").write_text(
            "clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]\n"
            "contexts: [{name: warmline-sandbox, context: {cluster: c, user: u}}]\n"
            "users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: 'false'}}}]\n"
        )
        result = run(*command)
        assert result.exit_code == 3
        assert "https://127.0.0.1:1: out of reach: the kubeconfig's credential plugin false ended" in result.stderr

    def test_no_kubeconfig(self, stacks: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...]) -> None:
        monkeypatch.setenv("KUBECONFIG", "/nowhere/config")
        result = run(*command)
        assert result.exit_code == 3
        assert "/nowhere/config: out of reach" in result.output


@pytest.mark.parametrize(
    ("arguments", "needed", "kept_out"),
    [
        (
            ["prescale", "plan", "-s", "local", "-o", "json"],
            "whenever",
            {"lightkube", "rich", "pulumi", "httpx2", "icalendar", "holidays"},
        ),
        (["prescale", "-h"], "click", {"lightkube", "rich", "pulumi", "pydantic", "whenever"}),
        (["prescale", "sync", "-s", "local"], "lightkube", {"rich", "pulumi", "jinja2", "jsonschema"}),
    ],
)
def test_nothing_is_imported_before_it_is_needed(
    stacks: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], needed: str, kept_out: set[str]
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/nowhere/config")  # no cluster of whoever runs the tests
    program = (
        f"import sys; from cli.main import main; sys.argv[1:] = {arguments}\ntry: main()\nexcept SystemExit: pass\n"
    )
    program += "print('\\n' + ' '.join(sorted({name.split('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = set(done.stdout.splitlines()[-1].split())
    assert needed in imported
    assert kept_out & imported == set()


@pytest.mark.parametrize("command", ["plan", "sync", "status"])
def test_help_has_an_example_on_lines_of_its_own(command: str) -> None:
    text = CliRunner().invoke(warmline, ["prescale", command, "--help"]).output
    assert f"\n    warmline prescale {command} -s prod\n" in text
