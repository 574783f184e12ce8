"""`warmline prescale schedule`: what it prints works where it is meant to."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from cli.main import warmline
from infra.schemas.check import faults
from prescale.schedule.crontab import Host, crontab
from stacks.runner import PERIODS_MIN
from tests.cli.stack_folder import copied_stacks, edit

IMAGE = "registry.example/warmline@sha256:" + "1" * 64


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = copied_stacks(tmp_path)
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
    monkeypatch.delenv("WARMLINE_STACK", raising=False)
    monkeypatch.delenv("KUBECONFIG", raising=False)
    return root


def schedule(*arguments: str) -> Result:
    result = CliRunner().invoke(warmline, ["prescale", "schedule", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@pytest.mark.parametrize("kind", [("cron",), ("cronjob", "--image", IMAGE), ("ci",)])
def test_a_stack_with_faults_is_given_no_runner(root: Path, kind: tuple[str, ...]) -> None:
    edit(root / "local" / "events.yaml", "Asia/Kolkata", "IST")
    result = schedule(*kind, "-s", "local")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "timezone: got IST" in result.stderr


class TestCron:
    def test_a_crontab_of_two_stacks(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        shutil.copytree(root / "local", root / "prod")
        monkeypatch.setenv("KUBECONFIG", "config")
        text = schedule("cron", "-s", "local", "-s", "prod", "--metrics-file", "/var/lib/x/warmline.prom").stdout
        assert f"\nWARMLINE_STACKS_DIR={root}\n" in text
        assert f"\nKUBECONFIG={Path.cwd() / 'config'}\n" in text
        (line,) = [line for line in text.splitlines() if line.startswith("*/2 * * * * ")]
        assert "--stack=local --stack=prod --log-file=/var/log/warmline/prescale.jsonl" in line
        assert "--metrics-file=/var/lib/x/warmline.prom" in line
        programs = [word for word in line.split() if word.startswith("/") and "/bin/" in word]
        assert [Path(word).name for word in programs] == ["flock", "timeout", "warmline"]

    @pytest.mark.parametrize("every_min", PERIODS_MIN)
    def test_a_run_is_over_before_the_next_is_due(self, every_min: int) -> None:
        host = Host(Path("/w"), Path("/flock"), Path("/timeout"), "/bin", {})
        text = crontab(["prod"], every_min, host, Path("/l/x.jsonl"), [])
        found = re.search(r"--kill-after=(\d+) (\d+) /w", text)
        assert found
        assert int(found[1]) + int(found[2]) < every_min * 60
        assert f"\n*/{every_min} * * * * " in text

    def test_the_line_does_what_it_says(self, tmp_path: Path) -> None:
        """Run as cron does: `\\%` unescaped, in /bin/sh; twice at once, of which one waits for nothing."""
        folder = tmp_path / "it's 100% mine"
        folder.mkdir()
        program = folder / "warmline"
        program.write_text(f'#!/bin/sh\necho "$@" >>"{folder}/ran"\necho out\necho err >&2\nsleep 1\n')
        program.chmod(0o755)
        flock, timeout = shutil.which("flock"), shutil.which("timeout")
        assert flock
        assert timeout
        host = Host(program, Path(flock), Path(timeout), "/usr/bin:/bin", {})
        text = crontab(["a", "b"], 2, host, folder / "runs.jsonl", ["--metrics-file=/m.prom"])
        line = text.splitlines()[-1]
        assert not re.search(r"(?<!\\)%", line)
        command = line.split(" ", 5)[5].replace(r"\%", "%")
        runs = [subprocess.Popen(["/bin/sh", "-c", command], stdout=subprocess.PIPE) for _ in range(2)]
        assert [run.communicate()[0] for run in runs] == [b"", b""], "cron would mail it"
        assert (folder / "ran").read_text() == (
            f"prescale sync --stack=a --stack=b --log-file={folder}/runs.jsonl --metrics-file=/m.prom\n"
        )
        assert (folder / "prescale.err").read_text() == "err\n"
        assert sorted(run.returncode for run in runs) == [0, 1]


class TestCronJob:
    def test_every_object_is_one_of_its_schema(self, root: Path) -> None:
        result = schedule("cronjob", "-s", "local", "--image", IMAGE, "--every-min", "5", "--webhook-secret", "hook")
        objects = list(yaml.safe_load_all(result.stdout))
        assert result.exit_code == 0
        assert [fault for item in objects for fault in faults(item)] == []
        assert objects[-1]["spec"]["schedule"] == "*/5 * * * *"
        assert {item["metadata"]["labels"]["app.kubernetes.io/managed-by"] for item in objects} == {"warmline"}
        as_json = json.loads(
            schedule(
                *("cronjob", "-s", "local", "--image", IMAGE, "--every-min", "5", "--webhook-secret", "hook"),
                *("-o", "json"),
            ).stdout
        )
        assert as_json["items"] == objects

    def test_what_the_platform_says_and_what_is_said_here(self, root: Path) -> None:
        with (root / "local" / "platform.yaml").open("a") as file:
            file.write(f"runner: {{image: '{IMAGE}', every_min: 10}}\n")
        (job,) = self.jobs(schedule("cronjob", "-s", "local").stdout)
        assert job["spec"]["schedule"] == "*/10 * * * *"
        (job,) = self.jobs(schedule("cronjob", "-s", "local", "--every-min", "3").stdout)
        assert job["spec"]["schedule"] == "*/3 * * * *"

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            ((), "--image: got nothing, expected an image by digest"),
            (("--image", "warmline:latest"), "image: got 'warmline:latest', expected an image by digest"),
            (("--image", IMAGE, "--webhook-secret", "A_B"), "webhook_secret: got 'A_B'"),
        ],
    )
    def test_what_is_refused(self, root: Path, arguments: tuple[str, ...], said: str) -> None:
        result = schedule("cronjob", "-s", "local", *arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert said in result.stderr

    @staticmethod
    def jobs(text: str) -> list[dict[str, Any]]:
        return [item for item in yaml.safe_load_all(text) if item["kind"] == "CronJob"]


class TestCi:
    def test_the_workflow(self, root: Path) -> None:
        shutil.copytree(root / "local", root / "prod")
        edit(root / "prod" / "platform.yaml", "context: warmline-sandbox", "context: arn:aws:eks:x:1:cluster/prod")
        text = schedule("ci", "-s", "local", "-s", "prod", "--every-min", "10").stdout
        document = yaml.safe_load(text)
        # YAML 1.1 takes the key `on` for true; GitHub's reader does not.
        assert document[True]["schedule"] == [{"cron": "1-59/10 * * * *"}]
        job = document["jobs"]["sync"]
        assert job["strategy"]["matrix"]["include"] == [
            {"stack": "local", "context": "warmline-sandbox"},
            {"stack": "prod", "context": "arn:aws:eks:x:1:cluster/prod"},
        ]
        assert job["concurrency"] == {"group": "prescale-${{ matrix.stack }}", "cancel-in-progress": False}
        assert (document["permissions"], job["permissions"]) == ({}, {"contents": "read", "id-token": "write"})

    def test_actions_are_pinned_and_no_secret_is_kept(self, root: Path) -> None:
        text = schedule("ci", "-s", "local").stdout
        document = yaml.safe_load(text)
        steps = document["jobs"]["sync"]["steps"]
        uses = [step["uses"] for step in steps if "uses" in step]
        assert len(uses) == 3
        assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", one) for one in uses)
        assert "secrets." not in text
        for step in steps:
            assert "${{" not in step.get("run", ""), "an expression in a script is a place for somebody else's script"

    def test_it_says_what_github_does_to_schedules(self, root: Path) -> None:
        text = schedule("ci", "-s", "local").stdout
        assert "GitHub starts scheduled runs late" in text
        assert "60 days" in text
        assert schedule("ci", "-s", "local", "--every-min", "2").exit_code == 2, "GitHub's least is 5"


@pytest.mark.parametrize("command", ["cron", "cronjob", "ci", "alerts"])
def test_help_has_an_example(command: str) -> None:
    assert f"\n    warmline prescale schedule {command} -s prod" in schedule(command, "--help").stdout


class TestAlerts:
    def rules(self, *arguments: str) -> list[dict[str, Any]]:
        document = yaml.safe_load(schedule("alerts", "-s", "local", *arguments).stdout)
        (group,) = (document.get("spec") or document)["groups"]
        rules: list[dict[str, Any]] = group["rules"]
        return rules

    @pytest.mark.parametrize("runner", ["cron", "cronjob"])
    def test_each_says_what_to_do(self, root: Path, runner: str) -> None:
        rules = self.rules("--runner", runner)
        assert {"WarmlineRunnerSilent", "WarmlineRunFailing", "WarmlineNotWarm", "WarmlineFloorOutlivesItsEnd"} <= {
            rule["alert"] for rule in rules
        }
        for rule in rules:
            assert rule["labels"]["stack"] == "local"
            assert rule["annotations"]["summary"].endswith(".")
            assert len(rule["annotations"]["runbook"]) > 80

    def test_they_ask_for_metrics_that_there_are(self, root: Path) -> None:
        from prescale.runs.exposition import GAUGES

        known = {gauge.name for gauge in GAUGES}
        for rule in self.rules("--runner", "cron"):
            assert set(re.findall(r"warmline_prescale_\w+", rule["expr"])) <= known
        for rule in self.rules("--runner", "cronjob"):
            assert "warmline_prescale_" not in rule["expr"], "a pod that ended is scraped by nobody"

    def test_for_the_operator(self, root: Path) -> None:
        result = schedule("alerts", "-s", "local", "--runner", "cron", "--operator", "-o", "json")
        document = json.loads(result.stdout)
        assert (document["apiVersion"], document["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
        assert document["metadata"] == {"name": "warmline-prescale-local", "namespace": "serving"}
        assert self.rules("--runner", "cron", "--operator") == self.rules("--runner", "cron")

    def test_three_periods_are_silence(self, root: Path) -> None:
        (rule,) = (
            rule
            for rule in self.rules("--runner", "cron", "--every-min", "10")
            if rule["alert"] == "WarmlineRunnerSilent"
        )
        assert "> 1800 or absent(" in rule["expr"]
