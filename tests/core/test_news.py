"""What a webhook is told: once for each change, bounded, and without its address anywhere."""

from __future__ import annotations

import http.server
import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prescale.api.objects import Conflict, Refused
from prescale.runs import memory, news, webhook
from stacks.reach import OutOfReach
from tests.core.test_runs import FAILED, REPORT, SERVICE

GOOD = replace(REPORT, exit_code=0, services=(replace(SERVICE, findings=()),))


def test_numbers_alone_are_no_news() -> None:
    two, three = (
        replace(REPORT, services=(replace(SERVICE, findings=(f"HPA has minReplicas {n}, not 7",)),)) for n in (2, 3)
    )
    assert news.state(two) == news.state(three) != news.state(REPORT)


def test_all_is_well_has_no_name() -> None:
    assert news.state(GOOD) == ""
    assert news.state(FAILED) not in {"", news.state(REPORT)}


@given(st.permutations(["a", "b", "c"]))
def test_the_order_is_no_news(findings: list[str]) -> None:
    report = replace(REPORT, services=(replace(SERVICE, findings=tuple(findings)),))
    assert news.state(report) == news.state(replace(REPORT, services=(replace(SERVICE, findings=("a", "b", "c")),)))


def test_the_message() -> None:
    assert news.message(REPORT) == ("Warmline, stack prod: needs a person\n- support-bot: the floor is not in force")
    assert news.message(GOOD) == "Warmline, stack prod: all is well again"
    assert "the cluster is out of reach" in news.message(FAILED)
    told = news.message(replace(FAILED, errors=("<!channel> a & b",)))
    assert "&lt;!channel&gt; a &amp; b" in told, "Slack would call everybody"


@given(st.lists(st.text(max_size=500), max_size=100))
def test_the_message_is_bounded(errors: list[str]) -> None:
    told = news.message(replace(FAILED, errors=tuple(errors)))
    assert len(told) <= 5 * news.MOST_CHARACTERS + 10
    assert "<" not in told


class Hook:
    """A webhook on this machine; `answer` is what it answers, after `wait_s`."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.answer = 200
        self.headers: dict[str, str] = {}
        self.wait_s = 0.0
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                hook.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
                time.sleep(hook.wait_s)
                self.send_response(hook.answer)
                for name, value in hook.headers.items():
                    self.send_header(name, value)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/services/T0/s3cret"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hook]:
    made = Hook()
    monkeypatch.setattr(webhook, "WITHIN_S", 300.0)  # a busy machine is no failure
    monkeypatch.setattr(webhook, "TIMEOUT", 300.0)
    yield made
    made.server.shutdown()


class TestWebhook:
    def test_it_is_told(self, hook: Hook) -> None:
        webhook.send(hook.url, "two\nlines")
        assert [json.loads(body) for body in hook.bodies] == [{"text": "two\nlines"}]

    def test_a_redirect_is_not_followed(self, hook: Hook) -> None:
        other = Hook()
        hook.answer, hook.headers = 307, {"Location": other.url}
        with pytest.raises(webhook.NotTold, match="307, a redirect, which is not followed"):
            webhook.send(hook.url, "x")
        assert other.bodies == []
        other.server.shutdown()

    def test_one_that_hangs_is_left(self, hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(webhook, "WITHIN_S", 0.2)
        hook.wait_s = 2.0
        with pytest.raises(webhook.NoAnswer, match=r"no answer within 0\.2 s"):
            webhook.send(hook.url, "x")

    @pytest.mark.parametrize("code", [400, 404, 500])
    def test_what_it_answers_is_said(self, hook: Hook, code: int) -> None:
        hook.answer = code
        with pytest.raises(webhook.NotTold, match=f"it answered {code}"):
            webhook.send(hook.url, "x")

    @pytest.mark.parametrize(
        "url",
        [
            "http://hooks.example/s3cret",
            "http://127.0.0.1.example/s3cret",
            "http://[::1/s3cret",
            "ftp://127.0.0.1/s3cret",
            "file:///s3cret",
            "https:///s3cret",
            "s3cret",
            "",
        ],
    )
    def test_an_address_that_is_not_sent_to(self, url: str) -> None:
        with pytest.raises(webhook.NotTold, match="neither https") as caught:
            webhook.send(url, "x")
        assert "s3cret" not in str(caught.value)

    @pytest.mark.parametrize(
        "url", ["https://127.0.0.1:1/s3cret", "http://localhost:1/s3cret", "https://a\x00b/s3cret"]
    )
    def test_one_that_is_not_there_is_not_named(self, url: str) -> None:
        with pytest.raises(webhook.NotTold, match="cannot be reached") as caught:
            webhook.send(url, "x")
        assert "s3cret" not in str(caught.value)


class TestFileMemory:
    def test_remembers_each_stack(self, tmp_path: Path) -> None:
        path = tmp_path / "told.json"
        for kept in (memory.FileMemory(path), memory.FileMemory(path)):
            kept.remember("prod", "a")
            kept.remember("staging", "b")
            assert (kept.recall("prod"), kept.recall("staging"), kept.recall("local")) == ("a", "b", "")
        memory.FileMemory(path).remember("prod", "")
        assert json.loads(path.read_text()) == {"staging": "b"}

    @pytest.mark.parametrize("text", ["", "[]", "{", '"a"'])
    def test_a_file_of_something_else_is_left_alone(self, tmp_path: Path, text: str) -> None:
        path = tmp_path / "told.json"
        path.write_text(text)
        with pytest.raises(memory.Forgotten, match=r"told\.json"):
            memory.FileMemory(path).remember("prod", "a")
        assert path.read_text() == text

    def test_a_folder_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(memory.Forgotten, match="was not written: no such file"):
            memory.FileMemory(tmp_path / "nowhere" / "told.json").remember("prod", "a")


class ConfigMaps:
    """Those of one namespace. `refuses`, if set, is what every call raises."""

    def __init__(self) -> None:
        self.maps: dict[str, dict[str, Any]] = {}
        self.calls: list[str] = []
        self.refuses: Exception | None = None

    def config_map(self, name: str) -> dict[str, Any] | None:
        self._call("get")
        return self.maps.get(name)

    def create_config_map(self, name: str, labels: dict[str, str], data: dict[str, str]) -> None:
        self._call("create")
        self.maps[name] = {"metadata": {"labels": labels}, "data": data}

    def patch_config_map(self, name: str, patch: dict[str, Any]) -> None:
        self._call("patch")
        if name not in self.maps:
            raise Conflict("not found")
        self.maps[name] = self.maps[name] | patch

    def _call(self, what: str) -> None:
        self.calls.append(what)
        if self.refuses:
            raise self.refuses


class TestClusterMemory:
    def test_is_seen_by_every_runner_and_made_when_it_is_missing(self) -> None:
        cluster = ConfigMaps()
        assert memory.ClusterMemory(cluster).recall("prod") == ""
        memory.ClusterMemory(cluster).remember("prod", "a")
        assert list(cluster.maps) == ["warmline-prescale-prod-findings"]
        assert memory.ClusterMemory(cluster).recall("prod") == "a"
        memory.ClusterMemory(cluster).remember("prod", "")
        assert memory.ClusterMemory(cluster).recall("prod") == ""

    def test_one_that_is_there_is_patched_and_not_made(self) -> None:
        """The CronJob's account may patch this one, and make none. As it is made it has no data."""
        cluster = ConfigMaps()
        cluster.maps["warmline-prescale-prod-findings"] = {"metadata": {}}
        assert memory.ClusterMemory(cluster).recall("prod") == ""
        memory.ClusterMemory(cluster).remember("prod", "a")
        assert cluster.calls == ["get", "patch"]

    @pytest.mark.parametrize("refuses", [Refused("forbidden"), OutOfReach("https://api:6443", "forbidden", "Look.")])
    def test_what_it_cannot_know_it_says(self, refuses: Exception) -> None:
        cluster = ConfigMaps()
        cluster.refuses = refuses
        with pytest.raises(memory.Forgotten, match="forbidden"):
            memory.ClusterMemory(cluster).recall("prod")
        with pytest.raises(memory.Forgotten, match="forbidden"):
            memory.ClusterMemory(cluster).remember("prod", "a")


class TestSharedMemory:
    @given(st.lists(st.tuples(st.sampled_from(["", "a", "b", "c"]), st.booleans(), st.booleans()), max_size=12))
    def test_each_change_is_told_once_whatever_is_out_of_reach_meanwhile(
        self, tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[str, bool, bool]]
    ) -> None:
        """Runs of one machine: (state, whether its cluster is known, whether that answers)."""
        cluster, told = ConfigMaps(), [""]
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
            for state, is_known, answers in runs:
                cluster.refuses = None if answers else OutOfReach("https://api:6443", "no route", "Look.")
                shared = memory.SharedMemory(cluster if is_known else None)
                before = shared.recall("prod")
                if is_known and answers:
                    assert before == told[-1], "who reaches the cluster knows what was told last, from wherever"
                if state != before:
                    shared.remember("prod", state)
                    told.append(state)
                assert shared.recall("prod") == state, "and so it is told no second time"

    def test_without_a_disk_the_cluster_alone_keeps_it(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
        shared = memory.SharedMemory(ConfigMaps())
        shared.remember("prod", "a")
        assert shared.recall("prod") == "a"
        with pytest.raises(memory.Forgotten, match="file/warmline was not made: not a directory"):
            memory.SharedMemory(None).remember("prod", "a")
