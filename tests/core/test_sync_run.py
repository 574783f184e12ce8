from __future__ import annotations

import re
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from whenever import Instant

from prescale import absence
from prescale.api.cluster import Cluster
from prescale.clock import Clock
from prescale.outcome import Outcome
from prescale.sync import Run, sync
from prescale.windows.window import Timetable
from stacks import ownership
from stacks.reach import OutOfReach
from tests.core.api_double import ApiDouble, config
from tests.core.cluster_double import scaled_object
from tests.core.decision_cases import HERE, HOUR, at, window

pytestmark = pytest.mark.usefixtures("no_waiting")

SERVER = "https://api.example:6443"


def run(api: ApiDouble, seconds: float = 0, *windows: Any, dry_run: bool = False) -> tuple[Outcome, ...]:
    """One run at `seconds` after T0, by both clocks."""
    api.clock = lambda: at(seconds)
    table = Timetable(HERE, windows or (window(),))
    cluster = api.cluster()
    # By the play's clock on both sides; TestClock has them differ.
    cluster.clock = Clock  # type: ignore[method-assign]
    return sync(Run("local", table, ("support-bot",), cluster, lambda: at(seconds), dry_run=dry_run))


def test_raises_and_sees_it_in_force() -> None:
    api = ApiDouble(scaled_object())
    (outcome,) = run(api)
    assert (outcome.was, outcome.target, outcome.findings) == (2, 7, ())
    assert outcome.in_force_s is not None
    assert api.minimum() == 7
    assert [manager for _, _, manager in api.patches] == [ownership.FIELD_MANAGER]


def test_calls_are_few() -> None:
    api = ApiDouble(*[scaled_object(name=f"bot-{n}") for n in range(50)], scaled_object())
    run(api, -2 * HOUR)
    assert [request.method for request in api.requests] == ["GET", "GET"]
    api.requests.clear()
    run(api)
    assert [request.method for request in api.requests] == ["GET", "GET", "PATCH", "GET"]
    api.requests.clear()
    run(api, 60)
    assert [request.method for request in api.requests] == ["GET", "GET", "GET"]


NOT_BUILT = (
    "nothing of stack local is in namespace serving of https://api.example:6443 (context default) yet. "
    "Run `pulumi up -s local`, or name another context: cluster.context in platform.yaml."
)


@pytest.mark.parametrize("seconds", [0, -2 * HOUR], ids=["in an event", "without one"])
@pytest.mark.parametrize("dry_run", [False, True])
def test_touches_only_the_stacks_own(seconds: float, dry_run: bool) -> None:
    """Where there is nothing of it, that is said at once: at the raise it would be too late to build it."""
    api = ApiDouble(scaled_object(stack="prod"))
    (outcome,) = run(api, seconds, dry_run=dry_run)
    assert api.patches == []
    assert outcome.findings == (NOT_BUILT,)


def test_a_service_that_was_not_built_with_the_others_is_a_finding_once_an_event_asks_for_it() -> None:
    api = ApiDouble(scaled_object(name="fraud-bot"))
    *_, outcome = run(api, -2 * HOUR)
    assert (outcome.service, outcome.findings) == ("support-bot", ())
    assert "where other services of stack local have theirs. Run `pulumi up -s local`." in outcome.notes[0]
    *_, outcome = run(api)
    assert outcome.findings == (f"sale: {absence.not_among_the_others('local', api.cluster().where)}",)


def test_dry_run_changes_nothing_and_shows_the_patch() -> None:
    api = ApiDouble(scaled_object())
    (outcome,) = run(api, 0, dry_run=True)
    assert outcome.patch
    assert outcome.patch["spec"] == {"minReplicaCount": 7}
    assert {request.method for request in api.requests} == {"GET"}


def test_a_write_in_between_is_seen_and_decided_anew() -> None:
    api = ApiDouble(scaled_object())
    api.before_patch = [lambda: api.person("support-bot", 9)]
    (outcome,) = run(api)
    assert (api.minimum(), outcome.was, outcome.target) == (9, 9, 9)
    assert "a person's 9 is kept" in outcome.notes[0]


def test_deleted_in_between() -> None:
    api = ApiDouble(scaled_object())
    api.before_patch = [api.objects.clear]
    assert run(api)[0].notes == ("it was deleted meanwhile",)


def test_somebody_who_never_stops_is_a_finding() -> None:
    api = ApiDouble(scaled_object())
    api.before_patch = [lambda n=n: api.person("support-bot", 3 + n % 2) for n in range(99)]  # type: ignore[misc]
    assert "somebody else wrote it 8 times" in run(api)[0].findings[0]


def test_a_floor_that_keda_does_not_take_over_is_a_finding() -> None:
    api = ApiDouble(scaled_object())
    api.keda_works = False
    (outcome,) = run(api)
    assert "HPA keda-hpa-support-bot has minReplicas 2, not 7" in outcome.findings[0]
    assert "not in force" in run(api, 60)[0].findings[0], "also in a run that patches nothing"


def above_its_ceiling(api: ApiDouble, name: str) -> None:
    """By hand, and past KEDA's webhook."""
    api.person(name, 20)


def floor_above_its_ceiling(api: ApiDouble, name: str) -> None:
    api.objects[name]["spec"]["maxReplicaCount"] = 5


def record_unreadable(api: ApiDouble, name: str) -> None:
    api.objects[name]["metadata"]["annotations"][ownership.FLOOR_ANNOTATION] = "{"


def baseline_missing(api: ApiDouble, name: str) -> None:
    del api.objects[name]["metadata"]["annotations"][ownership.BASELINE_ANNOTATION]


def patch_answered(code: int, message: str) -> Callable[[ApiDouble, str], None]:
    def spoil(api: ApiDouble, name: str) -> None:
        original = api._patch

        def patch(asked: str, *args: Any) -> httpx2.Response:
            if asked != name:
                return original(asked, *args)
            return httpx2.Response(code, json={"kind": "Status", "code": code, "message": message})

        api._patch = patch  # type: ignore[assignment, method-assign]

    return spoil


BROKEN = [
    (above_its_ceiling, "a person's minReplicaCount of 20 is above the live ceiling of 16"),
    (floor_above_its_ceiling, "above the live ceiling of 5"),
    (record_unreadable, "cannot be read"),
    (baseline_missing, "is missing"),
    (patch_answered(403, 'admission webhook "vscaledobject.kb.io" denied the request: no'), "denied the request: no"),
    (patch_answered(403, '"x" is forbidden: ValidatingAdmissionPolicy denied request'), "was refused"),
    (patch_answered(422, "spec.minReplicaCount: Invalid value"), "was refused"),
    (patch_answered(500, 'failed calling webhook "x": connection refused'), "was refused"),
    (patch_answered(409, "the object has been modified"), "somebody else wrote it 8 times"),
]


@pytest.mark.parametrize("name", ["a-bot", "z-bot"], ids=["before", "after"])
@pytest.mark.parametrize(("spoil", "finding"), BROKEN)
def test_one_broken_object_does_not_keep_the_others_from_their_floor(
    spoil: Callable[[ApiDouble, str], None], finding: str, name: str
) -> None:
    api = ApiDouble(scaled_object(name=name), scaled_object())
    spoil(api, name)
    outcomes = {outcome.service: outcome for outcome in run(api, 0, window(), structs.replace(window(), service=name))}
    assert finding in " ".join(outcomes[name].findings)
    assert (outcomes["support-bot"].findings, api.minimum()) == ((), 7)


class TestClock:
    @pytest.mark.parametrize(("ahead_s", "floor"), [(0, 2), (200, 2), (7200, 7), (-7200, 7)])
    def test_the_servers_date_decides_whether_to_lower(self, ahead_s: int, floor: int) -> None:
        api = ApiDouble(scaled_object())
        run(api)
        vars(api.cluster()).pop("clock")
        real = Instant.now()
        ends = round((real - at(0)).total("seconds")) - 60
        api.clock = lambda: Instant.now().subtract(seconds=ahead_s)
        table = Timetable(HERE, (window(end_s=ends),))
        outcomes = sync(
            Run("local", table, ("support-bot",), api.cluster(), lambda: Instant.from_timestamp(int(real.timestamp())))
        )
        assert api.minimum() == floor
        assert bool(outcomes[0].findings) == (floor == 7)


class TestOutOfReach:
    @pytest.mark.parametrize(
        "answer",
        [
            httpx2.ConnectError("[Errno 111] Connection refused"),
            httpx2.ConnectTimeout("timed out"),
            httpx2.ReadTimeout("timed out"),
            httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"),
            httpx2.RemoteProtocolError("Server disconnected"),
            ssl.SSLError("bad handshake"),
            httpx2.Response(401, json={"kind": "Status", "code": 401, "message": "Unauthorized"}),
            httpx2.Response(403, json={"kind": "Status", "code": 403, "message": "forbidden"}),
            httpx2.Response(404, text="404 page not found", headers={"Content-Type": "text/plain"}),
            httpx2.Response(500, text="boom"),
            httpx2.Response(503, json={"kind": "Status", "code": 503, "message": "etcd is away"}),
            httpx2.Response(200, text="<html>a login page</html>"),
            httpx2.Response(200, json=[]),
            httpx2.Response(302, headers={"Location": "https://login.example"}),
        ],
    )
    def test_names_the_address(self, answer: Any) -> None:
        api = ApiDouble(scaled_object())
        api.answers = [answer] * 3
        with pytest.raises(OutOfReach, match=r"https://api.example:6443: out of reach: .+\. Nothing was changed\. .+"):
            run(api)
        assert api.patches == []

    @pytest.mark.parametrize(
        ("spoil", "what"),
        [
            (lambda item: item.pop("metadata"), "metadata"),
            (lambda item: item["metadata"].pop("name"), "name"),
            (lambda item: item["metadata"].pop("namespace"), "namespace"),
            (lambda item: item["metadata"].update(managedFields="x"), "managedFields"),
            (lambda item: item["metadata"].update(labels=5), "labels"),
            (lambda item: item["spec"].update(minReplicaCount="two"), "minReplicaCount"),
            (lambda item: item.update(spec="x"), "spec"),
            (lambda item: item.update(status={"hpaName": 5}), "hpaName"),
        ],
    )
    def test_an_object_of_another_shape(self, spoil: Any, what: str) -> None:
        api = ApiDouble(scaled_object())
        item = scaled_object()
        spoil(item)
        api.answers = [httpx2.Response(200, json={"items": [item]})]
        with pytest.raises(OutOfReach, match=f"not one of a Kubernetes API server .*{what}"):
            run(api)

    @pytest.mark.parametrize("hpa", [{}, {"metadata": {"name": "x"}, "spec": {"minReplicas": None}}])
    def test_an_hpa_of_another_shape(self, hpa: Any) -> None:
        api = ApiDouble(scaled_object())
        api.answers = [httpx2.Response(200, json={"items": [hpa]})]
        with pytest.raises(OutOfReach, match="not one of a Kubernetes API server"):
            api.cluster().hpas()

    @pytest.mark.parametrize(
        "pod", [{}, {"metadata": {"name": "a", "creationTimestamp": "x"}}, {"metadata": {"name": "a"}}]
    )
    def test_a_pod_of_another_shape(self, pod: Any) -> None:
        api = ApiDouble(scaled_object())
        api.answers = [httpx2.Response(200, json={"items": [pod]})]
        with pytest.raises(OutOfReach, match="not one of a Kubernetes API server"):
            api.cluster().pods({"a": "b"})

    @pytest.mark.parametrize("year", ["0001", "9999"])
    def test_a_date_at_the_end_of_time_is_a_clock_that_is_wrong(self, year: str) -> None:
        api = ApiDouble(scaled_object())
        body = {"items": [scaled_object()]}
        api.answers = [httpx2.Response(200, json=body, headers={"Date": f"Fri, 31 Dec {year} 23:59:59 GMT"})]
        cluster = api.cluster()
        cluster.scaled_objects("local")
        assert not cluster.clock(at(0)).is_sure

    def test_a_hiccup_is_tried_again(self) -> None:
        api = ApiDouble(scaled_object())
        api.answers = [httpx2.ConnectError("refused"), httpx2.Response(503, text="starting")]
        run(api)
        assert api.minimum() == 7

    def test_says_what_had_been_changed_before(self) -> None:
        api = ApiDouble(scaled_object(name="a"), scaled_object(name="b"))
        for name in ("a", "b"):
            api.objects[name]["metadata"]["labels"][ownership.SERVICE_LABEL] = "support-bot"

        def away() -> None:
            api.answers = [httpx2.ConnectError("refused")] * 9

        original = api._patch

        def patch_once(*args: Any) -> httpx2.Response:
            response = original(*args)
            away()
            return response

        api._patch = patch_once  # type: ignore[assignment, method-assign]
        with pytest.raises(OutOfReach, match="Before that, support-bot had been patched; the next run does the rest"):
            run(api)

    def test_a_proxy_that_cannot_be_used(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("https_proxy", "socks5://127.0.0.1:1")
        with pytest.raises(OutOfReach, match="SOCKS"):
            _list("https://127.0.0.2:1")

    def test_a_password_in_the_address_is_not_printed(self) -> None:
        with pytest.raises(OutOfReach) as raised:
            _list("https://me:p4ss@127.0.0.1:1")
        assert "https://127.0.0.1:1: out of reach" in str(raised.value)
        assert "p4ss" not in str(raised.value)

    def test_an_address_that_is_none(self) -> None:
        for address in ("nonsense", "http://127.0.0.1:1", "https://127.0.0.1:1", "http://[", "ftp://127.0.0.1"):
            with pytest.raises(OutOfReach, match=re.escape(address)):
                _list(address)


def _list(address: str) -> None:
    cluster = Cluster(config(address), "serving")
    cluster.wire._sleep = lambda _: None
    cluster.scaled_objects("local")


# --- killed, and several at once ---


class Killed(BaseException):
    """SIGKILL, as far as one process can tell."""


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=6), st.sampled_from([0, 4 * HOUR]))
def test_killed_before_or_after_any_write_the_next_run_is_right(kills: list[tuple[bool, bool]], last: int) -> None:
    api = ApiDouble(scaled_object(minimum=0, baseline="0"))
    original = api._patch

    for before, raised in kills:

        def killed(*args: Any, before: bool = before) -> httpx2.Response:
            if not before:
                original(*args)
            raise Killed

        api._patch = killed  # type: ignore[assignment, method-assign]
        with suppress(Killed):
            run(api, 0 if raised else 5 * HOUR)
    api._patch = original  # type: ignore[method-assign]
    run(api, last)
    assert api.minimum() == (7 if last == 0 else 0)
    assert (ownership.FORCE_ACTIVATION in api.objects["support-bot"]["metadata"]["annotations"]) == (last == 0)
    assert (api.record() is None) == (last != 0)


def test_eight_at_once_end_as_one() -> None:
    api, alone = ApiDouble(scaled_object()), ApiDouble(scaled_object())
    run(alone)
    lock = threading.Lock()
    original = api.handle

    def handle(request: httpx2.Request) -> httpx2.Response:
        with lock:
            return original(request)

    api.handle = handle  # type: ignore[method-assign]
    threads = [threading.Thread(target=run, args=(api,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (api.minimum(), api.record(), len(api.patches)) == (7, alone.record(), 1)
