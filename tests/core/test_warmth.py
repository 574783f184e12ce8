from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx2
import pytest
from lightkube.core.exceptions import ConfigError
from msgspec import structs

from prescale import asking
from prescale.asking import asker
from prescale.floors.ramp import Rise
from prescale.lead_time.progress import Progress
from prescale.orders.order import NONE, Orders, Term, of_a_service
from prescale.pod_states import PodState, pod_states
from prescale.warmth import Sighting, Warmth, look
from prescale.windows.window import Timetable, Window
from stacks import ownership
from stacks.loader import load_platform
from tests.core.api_double import ApiDouble
from tests.core.cluster_double import scaled_object, seen
from tests.core.decision_cases import HERE, HOUR, at, window
from tests.core.stack_files import LOCAL

READY = Progress("ready", 4, at(0))
SERVICES = load_platform("local", LOCAL.parent).services


def pod(
    name: str, created_s: float = -900, *, ready: bool = True, gone: bool = False, phase: str = "Running"
) -> dict[str, Any]:
    """One that loads its weights since it was created; an engine's start (180 s) is to come."""
    created = at(created_s).format_iso()
    return {
        "metadata": {
            "name": name,
            "creationTimestamp": created,
            "labels": {ownership.SERVICE_LABEL: "support-bot", ownership.STACK_LABEL: "local"},
            **({"deletionTimestamp": created} if gone else {}),
        },
        "spec": {
            "initContainers": [{"name": "weights"}],
            "containers": [{"name": "engine", "ports": [{"name": "http", "containerPort": 8001}]}],
        },
        "status": {
            "phase": phase,
            "podIP": "127.10.1.2",
            "conditions": [{"type": "Ready", "status": "True" if ready else "False"}],
            "initContainerStatuses": [{"name": "weights", "state": {"running": {"startedAt": created}}}],
        },
    }


def judged(
    pods: list[dict[str, Any]],
    hpa_min: int | None = 7,
    seconds: float = -600,
    *,
    silent: tuple[str, ...] = (),
    at_s: float | None = None,
    live: int = 7,
    windows: tuple[Window, ...] | None = None,
    orders: Orders = NONE,
    annotations: dict[str, str] | None = None,
    **window_args: Any,
) -> Warmth:
    def ask(asked: Any) -> dict[str, str | None]:
        return {state.name: "HTTP 503" if state.name in silent else None for state, _ in asked}

    minimums = {} if hpa_min is None else {"keda-hpa-support-bot": hpa_min}
    sighting = Sighting(
        "local",
        "here",
        [seen(scaled_object(minimum=live, annotations=annotations))],
        minimums,
        pod_states(pods),
        orders,
    )
    moment = at(seconds if at_s is None else at_s)
    table = Timetable(HERE, windows or (window(**window_args),))
    (warmth,) = look(table, SERVICES, sighting, ask, at=moment, now=at(seconds))
    return warmth


def pods(ready: int, coming: int = 0, created_s: float = -900) -> list[dict[str, Any]]:
    return [pod(f"r{n}") for n in range(ready)] + [pod(f"c{n}", created_s, ready=False) for n in range(coming)]


def test_warm() -> None:
    warmth = judged(pods(7))
    assert (warmth.is_warm, warmth.floor, warmth.event, warmth.ready_by) == (True, 7, "sale", None)


def test_pods_on_their_way_out_do_not_count() -> None:
    leaving = [pod("x", gone=True), pod("y", phase="Failed"), pod("z", phase="Succeeded")]
    assert judged(pods(6) + leaving).missing == ("6 of 7 Ready",)


def test_a_ready_pod_that_does_not_answer_is_not_warm() -> None:
    warmth = judged(pods(7), silent=("r3",))
    assert warmth.missing == ("6 of 7 answering",)
    assert warmth.notes == ("pod r3 is Ready and does not answer: HTTP 503",)
    assert judged(pods(8), silent=("r3",)).is_warm, "seven of eight are enough"


def test_the_floor_counts_where_it_is_in_force() -> None:
    assert judged(pods(7), 2).missing == ("HPA minReplicas is 2 of 7",)
    assert judged(pods(7), None).missing == ("no HPA",)


class TestByWhen:
    def test_pods_on_their_way_by_their_age(self) -> None:
        warmth = judged(pods(2, 5, created_s=-700), seconds=-600)
        assert (warmth.ready_by, warmth.late_s) == (at(-400), -400)

    def test_pods_not_there_yet_from_now(self) -> None:
        warmth = judged(pods(2), 2, seconds=-180)
        assert (warmth.ready_by, warmth.late_s) == (at(120), 120)

    def test_before_the_raise_from_the_raise(self) -> None:
        warmth = judged(pods(2), 2, seconds=-2 * HOUR, at_s=0, live=2)
        assert (warmth.floor, warmth.ready_by, warmth.late_s) == (7, at(-1500), -1500)

    def test_a_pod_past_its_p95_is_told_and_t0_alone_judges(self) -> None:
        """One in twenty passes it; the margin is there for it."""
        late = "pod c0 is later than planned: not Ready after 301 s (p95 300 s)"
        before = judged(pods(6, 1, created_s=-901), seconds=-600)
        assert (before.notes, before.missing, before.late_s) == ((late,), ("6 of 7 Ready",), -600 + 180)
        after = judged(pods(6, 1, created_s=-271), seconds=30)
        assert (after.notes, after.late_s) == ((late,), 30 + 180)
        spare = judged(pods(7, 1, created_s=-901), seconds=-600)
        assert (spare.notes, spare.is_warm) == ((late,), True)

    def test_a_pod_at_its_p95_is_as_planned(self) -> None:
        assert judged(pods(6, 1, created_s=-900), seconds=-600).notes == ()

    def test_without_an_event_no_lateness(self) -> None:
        warmth = judged(pods(1), 2, seconds=-2 * HOUR, live=2)
        assert (warmth.floor, warmth.event, warmth.late_s) == (2, None, None)
        assert warmth.ready_by == at(-2 * HOUR + 300)

    def test_a_pause_starts_nothing(self) -> None:
        warmth = judged(pods(2), None, annotations={ownership.PAUSED: "true"})
        assert (warmth.missing, warmth.ready_by, warmth.late_s) == (("no HPA", "2 of 7 Ready"), None, None)

    def test_an_order_has_no_start_to_be_late_for(self) -> None:
        term = Term(at(0), at(HOUR), "alice", "on TV")
        orders = Orders((of_a_service("now", "support-bot", 9, term),))
        warmth = judged(pods(7), 9, seconds=60, live=9, orders=orders)
        assert (warmth.floor, warmth.due, warmth.t0, warmth.late_s) == (9, None, None, None)
        assert warmth.ready_by == at(60 + 300)
        late = judged(pods(6), 9, seconds=60, live=9, orders=orders)
        assert (late.floor, late.due, late.late_s) == (9, 7, 360), "what the sale asks for is late all the same"

    def test_a_smaller_event_that_begins_first_is_late_though_the_larger_one_is_not(self) -> None:
        both = (window("first", 4), window("second", 7, raise_s=-1800, start_s=HOUR))
        warmth = judged(pods(2), seconds=-120, windows=both)
        assert (warmth.floor, warmth.event, warmth.due, warmth.late_s) == (7, "second", 4, 180)
        in_time = judged(pods(4), seconds=-120, windows=both)
        assert (in_time.due, in_time.late_s) == (None, 180 - HOUR)

    def test_a_step_of_a_ramp_is_late_though_the_next_one_is_not(self) -> None:
        steps = [(4, -1800), (7, 0)]
        rises = tuple(Rise(floor, at(s).to_tz("Asia/Kolkata"), at(s - 2100)) for floor, s in steps)
        ramped = structs.replace(window(raise_s=-3900), rises=rises)
        warmth = judged(pods(2), seconds=-1860, windows=(ramped,))
        assert (warmth.floor, warmth.due, warmth.late_s) == (7, 4, 240)


def test_a_floor_refused_for_its_ceiling_is_not_warm() -> None:
    warmth = judged(pods(2), 2, live=2, floor=20)
    assert (warmth.is_warm, warmth.floor) == (False, 20)
    assert "refused" in warmth.notes[0]


def without_object(*objects: dict[str, Any], baseline: int = 2) -> Warmth:
    replicas = SERVICES["support-bot"].replicas.model_copy(update={"min": baseline})
    services = {"support-bot": SERVICES["support-bot"].model_copy(update={"replicas": replicas})}
    sighting = Sighting("local", "here", [seen(item) for item in objects], {}, ())
    (warmth,) = look(Timetable(HERE, ()), services, sighting, lambda _: {}, at=at(0), now=at(0))
    return warmth


def test_nothing_of_the_stack_is_there() -> None:
    warmth = without_object()
    assert warmth.missing == ("no ScaledObject", "0 of 2 Ready")
    assert warmth.ready_by is None, "nothing will make it ready"
    (note,) = warmth.notes
    assert note.startswith("nothing of stack local is in here yet. Run `pulumi up -s local`, or name another context")


def test_a_service_that_was_not_built_with_the_others() -> None:
    (note,) = without_object(scaled_object(name="fraud-bot")).notes
    assert note == (
        "no ScaledObject in here, where other services of stack local have theirs. Run `pulumi up -s local`."
    )


def test_what_is_not_built_is_not_warm_at_a_baseline_of_0_either() -> None:
    assert without_object(baseline=0).missing == ("no ScaledObject",)


# --- asking ---


class Engine(BaseHTTPRequestHandler):
    answer: tuple[int, bytes] = (200, b'{"choices": [{"text": "a"}]}')
    seen: list[tuple[str, bytes]] = []  # noqa: RUF012 - one list for all requests, emptied by the fixture

    def do_POST(self) -> None:
        self.seen.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.answer[0])
        self.end_headers()
        self.wfile.write(self.answer[1])

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def engine() -> Iterator[Callable[[], PodState]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Engine)
    Engine.seen.clear()
    Engine.answer = (200, b'{"choices": [{"text": "a"}]}')
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield lambda: PodState("p", "support-bot", "127.0.0.1", server.server_port, at(0), is_ready=True, progress=READY)
    server.shutdown()
    server.server_close()


def test_asks_for_one_token(engine: Callable[[], PodState]) -> None:
    ask = asker(ApiDouble().cluster(), "direct")
    assert ask([(engine(), "support-8b")]) == {"p": None}
    assert Engine.seen == [("/v1/completions", b'{"model":"support-8b","prompt":"Hello","max_tokens":1}')]


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((503, b"loading"), "HTTP 503: loading"),
        ((200, b"<html>"), "an answer that is not JSON"),
        ((200, b"[]"), "an answer that is not JSON"),
        ((200, b'{"choices": []}'), "an answer without a token"),
    ],
)
def test_any_other_answer_is_none(engine: Callable[[], PodState], answer: tuple[int, bytes], why: str) -> None:
    Engine.answer = answer
    assert asker(ApiDouble().cluster(), "direct")([(engine(), "m")]) == {"p": why}


def test_nobody_there_and_too_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    monkeypatch.setattr(asking, "TIMEOUT_S", 0.3)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen()
        slow = PodState("slow", "s", "127.0.0.1", deaf.getsockname()[1], at(0), is_ready=True, progress=READY)
        gone = PodState("gone", "s", "127.0.0.1", 1, at(0), is_ready=True, progress=READY)
        answers = asker(ApiDouble().cluster(), "direct")([(slow, "m"), (gone, "m")])
    assert answers["slow"] == "no answer within 0 s"
    assert "refused" in (answers["gone"] or "")


@pytest.mark.parametrize("error", [ConfigError("exec aws returned 255"), httpx2.InvalidURL("no host"), OSError("away")])
def test_credentials_that_fail_in_the_middle_are_no_traceback(
    error: Exception, engine: Callable[[], PodState], monkeypatch: pytest.MonkeyPatch
) -> None:
    def post(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(httpx2.Client, "post", post)
    assert asker(ApiDouble().cluster(), "api")([(engine(), "m")]) == {"p": str(error)}


def test_the_api_servers_pod_proxy() -> None:
    state = PodState("p", "s", "10.0.0.1", 8001, at(0), is_ready=True, progress=READY)
    assert asking._url(state, "serving", "api") == "/api/v1/namespaces/serving/pods/p:8001/proxy/v1/completions"
    assert (
        asking._url(PodState("p", "s", "fd00::1", 80, at(0), is_ready=True, progress=READY), "n", "direct")
        == "http://[fd00::1]:80/v1/completions"
    )
