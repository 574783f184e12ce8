"""`warmline prescale sync` with a log and a metrics file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from cli.main import warmline
from prescale import sync as syncing
from prescale.api import cluster as clustering
from stacks.reach import OutOfReach
from tests.cli.stack_folder import copied_stacks, edit
from tests.core.api_double import ApiDouble
from tests.core.cluster_double import scaled_object
from tests.core.test_warmth import pod


@pytest.fixture
def stack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = copied_stacks(tmp_path)
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
    monkeypatch.delenv("WARMLINE_LOG", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(syncing, "IN_FORCE_WITHIN_S", 0.02)
    return root / "local"


@pytest.fixture
def api(stack: Path, monkeypatch: pytest.MonkeyPatch) -> ApiDouble:
    double = ApiDouble(scaled_object())
    monkeypatch.setattr(clustering.Cluster, "of", lambda *_: double.cluster())
    return double


def sale_is_on(stack: Path) -> None:
    edit(stack / "events.yaml", "2027-10-29 20:00", "2020-10-29 20:00")
    edit(stack / "events.yaml", "2027-10-30 00:30", "2190-10-30 00:30")


def sync(*arguments: str) -> Result:
    result = CliRunner().invoke(warmline, ["prescale", "sync", "-s", "local", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def test_a_line_for_each_run(api: ApiDouble, tmp_path: Path) -> None:
    log = tmp_path / "runs.jsonl"
    for _ in range(2):
        result = sync("--log-file", str(log))
        assert (result.exit_code, result.stdout[:12]) == (0, "support-bot:")
    first, second = map(json.loads, log.read_text().splitlines())
    assert first["services"][0]["floor_wanted"] == first["services"][0]["floor_in_force"] == 2
    assert first["services"][0]["ready"] is None, "no event counts, so pods are not worth a call"
    assert first["api_calls"] == len(api.requests) / 2
    assert second["calendar"] == "local/events.yaml"


def test_the_line_in_place_of_the_table(api: ApiDouble, monkeypatch: pytest.MonkeyPatch, stack: Path) -> None:
    sale_is_on(stack)
    api.pods = [pod(f"p{n}", ready=n < 3) for n in range(5)]
    monkeypatch.setenv("WARMLINE_LOG", "-")
    result = sync()
    (line,) = result.stdout.splitlines()
    (service,) = json.loads(line)["services"]
    assert (service["floor_wanted"], service["floor_in_force"], service["ready"]) == (7, 7, 3)
    assert service["floor_until"] == "2190-10-29T19:00:00Z"
    assert sync("-o", "json").exit_code == 2, "both want standard output"


def test_metrics_of_a_run_and_of_one_that_failed(
    api: ApiDouble, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stack: Path
) -> None:
    sale_is_on(stack)
    api.pods = [pod(f"p{n}") for n in range(7)]
    file = tmp_path / "warmline.prom"
    assert sync("--metrics-file", str(file)).exit_code == 0
    before = file.read_text()
    assert 'warmline_prescale_run_exit_code{stack="local"} 0\n' in before
    success = next(line for line in before.splitlines() if line.startswith("warmline_prescale_last_success"))

    def unreachable(*_: object) -> None:
        raise OutOfReach("https://api.example:6443", "no route to host", "Is it up?")

    monkeypatch.setattr(clustering.Cluster, "of", unreachable)
    log = tmp_path / "runs.jsonl"
    result = sync("--metrics-file", str(file), "--log-file", str(log))
    after = file.read_text()
    assert result.exit_code == 3
    assert 'warmline_prescale_run_exit_code{stack="local"} 3\n' in after
    assert 'warmline_prescale_run_findings{stack="local"} 1\n' in after
    assert success in after.splitlines()
    assert "floor_wanted_replicas" not in after
    assert json.loads(log.read_text())["last_success"] is not None
    edit(stack / "events.yaml", "Asia/Kolkata", "IST")
    assert sync("--metrics-file", str(file)).exit_code == 2
    assert success in file.read_text().splitlines()


@pytest.mark.parametrize("number", ["1.2.3", "9" * 20, "x"])
def test_a_metrics_file_that_somebody_spoiled_stops_no_run(
    api: ApiDouble, tmp_path: Path, stack: Path, number: str
) -> None:
    file = tmp_path / "warmline.prom"
    file.write_text(f'warmline_prescale_last_success_timestamp_seconds{{stack="local"}} {number}\n')
    edit(stack / "events.yaml", "Asia/Kolkata", "IST")
    assert sync("--metrics-file", str(file)).exit_code == 2
    assert 'warmline_prescale_run_exit_code{stack="local"} 2\n' in file.read_text()


def test_a_dry_run_leaves_nothing(api: ApiDouble, tmp_path: Path) -> None:
    file, log = tmp_path / "warmline.prom", tmp_path / "runs.jsonl"
    result = sync("--dry-run", "--metrics-file", str(file), "--log-file", str(log))
    assert (result.exit_code, file.exists(), log.exists()) == (0, False, False)


def test_a_file_that_cannot_be_written_is_no_fault_of_the_run(api: ApiDouble, tmp_path: Path, stack: Path) -> None:
    sale_is_on(stack)
    api.pods = [pod(f"p{n}") for n in range(7)]
    nowhere = tmp_path / "nowhere" / "x"
    result = sync("--metrics-file", str(nowhere), "--log-file", str(nowhere))
    assert (result.exit_code, api.minimum()) == (0, 7)
    assert result.stderr.count(f"{nowhere}: not written: no such file or directory") == 2


def test_looking_is_no_failure(api: ApiDouble, tmp_path: Path, stack: Path) -> None:
    """A Role that does not show pods leaves `ready` unknown; what is not even there is late all the same."""
    sale_is_on(stack)
    real, log = api.handle, tmp_path / "runs.jsonl"

    def handle(request: object) -> object:
        import httpx2

        if request.url.path.endswith("/pods"):  # type: ignore[attr-defined]
            return httpx2.Response(403, json={"kind": "Status", "code": 403, "message": "forbidden"})
        return real(request)  # type: ignore[arg-type]

    api.handle = handle  # type: ignore[assignment, method-assign]
    result = sync("--log-file", str(log))
    assert result.exit_code == 1
    assert "the pods are not shown, so nobody knows how many are Ready: it answered 403: forbidden" in result.stdout
    (line,) = map(json.loads, log.read_text().splitlines())
    assert line["services"][0]["ready"] is None
    assert "0 of 7 there" in line["findings"][0]
    api.running = {"keda-hpa-support-bot": 7}
    assert sync("--log-file", str(log)).exit_code == 0


def test_a_run_without_either_makes_no_further_call(api: ApiDouble) -> None:
    sync()
    bare = len(api.requests)
    api.requests.clear()
    sync("--log-file", "-")
    assert len(api.requests) == bare + 1, "the HPAs"


class TestWebhook:
    @pytest.fixture
    def told(self, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
        from prescale.runs import webhook

        messages: list[tuple[str, str]] = []
        monkeypatch.setattr(webhook, "send", lambda url, text: messages.append((url, text)))
        return messages

    def test_once_for_each_change(
        self, api: ApiDouble, told: list[tuple[str, str]], tmp_path: Path, stack: Path
    ) -> None:
        sale_is_on(stack)
        api.pods = [pod(f"p{n}") for n in range(7)]
        (tmp_path / "url").write_text("https://hooks.example/s3cret\n")
        options = ("--webhook-url-file", str(tmp_path / "url"), "--state-file", str(tmp_path / "told.json"))
        assert sync(*options).exit_code == 0
        assert told == [], "all is well, and nobody was told otherwise"
        api.keda_works, api.minimums = False, {"keda-hpa-support-bot": 2}
        assert [sync(*options).exit_code for _ in range(3)] == [1, 1, 1]
        ((url, text),) = told
        assert url == "https://hooks.example/s3cret"
        assert text.startswith("Warmline, stack local: needs a person\n- support-bot: the floor is not in force")
        api.minimums = {"keda-hpa-support-bot": 7}
        assert [sync(*options).exit_code for _ in range(2)] == [0, 0]
        assert [text for _, text in told[1:]] == ["Warmline, stack local: all is well again"]

    def test_bad_input_is_news_too(
        self, api: ApiDouble, told: list[tuple[str, str]], tmp_path: Path, stack: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        edit(stack / "events.yaml", "Asia/Kolkata", "IST")
        monkeypatch.setenv("WARMLINE_WEBHOOK_URL", "https://hooks.example/s3cret")
        for _ in range(2):
            assert sync("--state-file", str(tmp_path / "told.json")).exit_code == 2
        assert len(told) == 1
        assert "timezone: got IST" in told[0][1]

    def test_without_a_file_the_cluster_remembers(
        self, api: ApiDouble, told: list[tuple[str, str]], stack: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A pod that ends takes nothing along, also where a run found its calendar bad."""
        sale_is_on(stack)
        api.keda_works, api.minimums = False, {"keda-hpa-support-bot": 2}
        monkeypatch.setenv("WARMLINE_WEBHOOK_URL", "https://hooks.example/s3cret")
        assert [sync().exit_code for _ in range(3)] == [1, 1, 1]
        assert len(told) == 1
        edit(stack / "events.yaml", "Asia/Kolkata", "IST")
        assert [sync().exit_code for _ in range(3)] == [2, 2, 2]
        assert len(told) == 2, "platform.yaml says which cluster keeps it"
        assert api.minimum() == 7

    def test_out_of_reach_is_told_once_and_that_it_is_over_too(
        self,
        api: ApiDouble,
        told: list[tuple[str, str]],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setenv("WARMLINE_WEBHOOK_URL", "https://hooks.example/s3cret")
        assert sync().exit_code == 0
        reached = clustering.Cluster.of

        def unreachable(*_: object) -> None:
            raise OutOfReach("https://api.example:6443", "no route to host", "Is it up?")

        monkeypatch.setattr(clustering.Cluster, "of", unreachable)
        assert [sync().exit_code for _ in range(3)] == [3, 3, 3]
        assert [text.splitlines()[0] for _, text in told] == [
            "Warmline, stack local: was not run: the cluster is out of reach"
        ]
        monkeypatch.setattr(clustering.Cluster, "of", reached)
        assert [sync().exit_code for _ in range(3)] == [0, 0, 0]
        assert [text for _, text in told[1:]] == ["Warmline, stack local: all is well again"]
        assert (tmp_path / "state" / "warmline" / "told.json").read_text() == "{}\n"

    def test_where_nothing_can_be_kept_nobody_is_told_again_and_again(
        self, stack: Path, told: list[tuple[str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "state").write_text("no folder")
        monkeypatch.setenv("KUBECONFIG", str(tmp_path / "nowhere"))
        monkeypatch.setenv("WARMLINE_WEBHOOK_URL", "https://hooks.example/s3cret")
        result = sync()
        assert (result.exit_code, told) == (3, [])
        assert "the webhook was not told: what it was told cannot be kept: " in result.stderr
        assert "(--state-file FILE keeps it elsewhere)" in result.stderr

    def test_one_that_fails_hides_nothing_and_is_told_again(
        self, api: ApiDouble, tmp_path: Path, stack: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from prescale.runs import webhook

        sale_is_on(stack)
        api.keda_works = False
        tries: list[str] = []

        def fail(url: str, text: str) -> None:
            tries.append(text)
            raise webhook.NotTold("it answered 500")

        monkeypatch.setattr(webhook, "send", fail)
        monkeypatch.setenv("WARMLINE_WEBHOOK_URL", "https://hooks.example/s3cret")
        for _ in range(2):
            result = sync("--state-file", str(tmp_path / "told.json"))
            assert (result.exit_code, api.minimum()) == (1, 7)
            assert "the webhook was not told: it answered 500" in result.stderr
            assert "s3cret" not in result.output
        assert len(tries) == 2

    def test_a_silent_one_keeps_no_second_stack_waiting(
        self, api: ApiDouble, tmp_path: Path, stack: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from prescale.runs import webhook

        tries: list[str] = []

        def silent(url: str, text: str) -> None:
            tries.append(text)
            raise webhook.NoAnswer("no answer within 8 s")

        monkeypatch.setattr(webhook, "send", silent)
        monkeypatch.setenv("WARMLINE_WEBHOOK_URL", "https://hooks.example/s3cret")
        result = sync("-s", "nowhere", "-s", "nobody", "--state-file", str(tmp_path / "told.json"))
        assert (result.exit_code, len(tries)) == (2, 1)
        assert result.stderr.count("the webhook was not told: ") == 2
        assert "it gave no answer before, and one call waits for it once" in result.stderr

    def test_a_dry_run_tells_nobody(
        self, api: ApiDouble, told: list[tuple[str, str]], stack: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("WARMLINE_WEBHOOK_URL", "https://hooks.example/s3cret")
        api.objects.clear()
        assert sync("--dry-run").exit_code == 1
        assert told == []


def test_a_credential_plugin_that_hangs_is_ended_named_and_told(
    stack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from prescale.api import exec_plugin

    plugin = tmp_path / "sign-in"
    plugin.write_text("#!/bin/sh\nexec sleep 600\n")
    plugin.chmod(0o700)
    user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin)}}
    config = {
        "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
        "contexts": [{"name": "warmline-sandbox", "context": {"cluster": "c", "user": "u"}}],
        "users": [{"name": "u", "user": user}],
    }
    (tmp_path / "config").write_text(json.dumps(config))
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "config"))
    monkeypatch.setattr(exec_plugin, "WITHIN_S", 0.5)
    result = sync("--log-file", str(tmp_path / "runs.jsonl"))
    assert result.exit_code == 3
    (finding,) = json.loads((tmp_path / "runs.jsonl").read_text())["findings"]
    assert f"the kubeconfig's credential plugin {plugin} gave no answer within 0.5 s" in finding
    assert finding in result.stderr
