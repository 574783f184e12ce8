from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx2
from hypothesis import given
from hypothesis import strategies as st
from whenever import Instant

from prescale import whole_run
from prescale.api.objects import Refused
from prescale.briefs.making import brief_of
from prescale.clock import Clock
from prescale.lead_time import keeping, measuring
from prescale.lead_time.history import History, parse_data
from prescale.lead_time.kind import kind_of
from prescale.lead_time.reckoning import longest_s
from prescale.lead_time.start import Phases, Start
from prescale.on_time import planning
from prescale.outcome import Outcome
from prescale.windows.timetable import timetable
from stacks.loader import Stack, load_stack
from tests.core.api_double import CONFIG_MAPS, PODS, ApiDouble
from tests.core.cluster_double import scaled_object
from tests.core.stack_files import LOCAL, stack, swap
from tests.core.start_cases import POOL, SERVICE, pod
from tests.core.test_warmth import pods

T0 = Instant.from_utc(2027, 10, 29, 14, 30)
RAISE_S = -1800
NAME = "warmline-starts-local"
KIND = kind_of(SERVICE, POOL)


def at(seconds: float) -> Instant:
    """Seconds after T0: 20:00 in Kolkata."""
    return T0.add(seconds=seconds)


def local() -> Stack:
    return load_stack("local", LOCAL.parent)


def known(*totals_s: int) -> dict[str, Any]:
    """A history in the cluster: starts of a day ago."""
    starts = [Start(KIND, at(-86400 - n), f"p{n}", total, Phases()) for n, total in enumerate(totals_s)]
    data = History({"support-bot": tuple(sorted(starts, key=lambda one: one.created))}).data()
    return {"metadata": {"name": NAME, "namespace": "serving", "resourceVersion": "1"}, "data": data}


def api(*totals_s: int, **objects: Any) -> ApiDouble:
    double = ApiDouble(scaled_object(**objects))
    if totals_s:
        double.config_maps[NAME] = known(*totals_s)
    return double


def _forbidden() -> dict[str, Any] | None:
    raise Refused("configmaps is forbidden")


def run(double: ApiDouble, seconds: float, loaded: Stack | None = None, *, may_read: bool = True) -> Outcome:
    """What `sync` does at `seconds` after T0, where it may read the measured starts or not."""
    loaded, now, cluster = loaded or local(), at(seconds), double.cluster()
    cluster.clock = Clock  # type: ignore[method-assign]
    if not may_read:
        whole = cluster.config_map
        cluster.config_map = lambda name: _forbidden() if name == NAME else whole(name)  # type: ignore[method-assign]
    (outcome,) = whole_run.run(cluster, brief_of(loaded, now), lambda: loaded, now, lambda: now).outcomes
    return outcome


def asked(double: ApiDouble, path: str) -> int:
    return sum(request.url.path.startswith(path) for request in double.requests)


# --- by what was measured ---


def test_slower_starts_raise_earlier() -> None:
    double = api(*[300] * 30, 700, 700)
    assert run(double, RAISE_S - 401).patch is None
    assert run(double, RAISE_S - 400).target == 7
    assert run(api(), RAISE_S - 400).patch is None, "without a history platform.yaml counts"


def test_faster_starts_raise_no_later() -> None:
    assert run(api(*[100] * 100), RAISE_S).target == 7


def test_faster_starts_raise_later_where_that_is_wished_for_and_sure(tmp_path: Path) -> None:
    replaces = stack(tmp_path, platform=swap("engine_start_s: 180}", "engine_start_s: 180, measured: replaces}"))
    assert run(api(*[100] * 58), RAISE_S, replaces).target == 7
    assert run(api(*[100] * 59), RAISE_S, replaces).patch is None
    assert run(api(*[100] * 59), RAISE_S + 200, replaces).target == 7


def test_who_does_not_know_of_slower_starts_does_not_take_back_what_was_raised_early() -> None:
    double = api(*[700] * 3)
    run(double, RAISE_S - 400)
    outcome = run(double, RAISE_S - 300, may_read=False)
    assert (outcome.patch, double.minimum()) == (None, 7)
    assert outcome.notes == ("diwali-sale: held at 7, raised early by a run that knew of slower starts",)
    assert run(double, RAISE_S + 60, may_read=False).notes == ()
    run(double, 5 * 3600, may_read=False)
    assert double.minimum() == 2


def test_an_event_moved_later_is_let_go_at_once_by_who_knows_the_starts(tmp_path: Path) -> None:
    later = stack(tmp_path, events=swap("start: 2027-10-29 20:00", "start: 2027-10-29 21:00"))
    double = api()
    run(double, RAISE_S + 60)
    outcome = run(double, RAISE_S + 120, later)
    assert double.minimum() == 2
    assert outcome.notes == ("diwali-sale: let go, it was moved to 2027-10-29T21:00:00+05:30[Asia/Kolkata]",)


@given(st.lists(st.integers(60, 5000), min_size=1, max_size=80), st.integers(-9000, 0))
def test_no_history_makes_the_floor_of_an_instant_lower(totals_s: list[int], seconds: int) -> None:
    loaded, now = local(), at(seconds)
    table = planning.plan(api(*totals_s).cluster(), brief_of(loaded, now), now).table
    (window,), (usual,) = table.windows, timetable(loaded, now).windows
    assert usual.floor_at(now) <= window.floor_at(now) <= usual.floor_early(now)


# --- what it costs ---


def test_calls_are_few() -> None:
    double = api(*[300] * 5)
    begins = RAISE_S - 2 * longest_s(300) + 300
    for seconds, config_maps in ((-86400, 1), (begins - 1, 1), (begins, 2)):
        double.requests.clear()
        run(double, seconds)
        assert asked(double, CONFIG_MAPS) == config_maps, "the orders, and the starts where they may matter"
        assert (len(double.requests), asked(double, PODS)) == (config_maps + 1, 0)
    double.pods = pods(7)
    for seconds in (RAISE_S, RAISE_S + 60):
        run(double, seconds)
    double.requests.clear()
    run(double, RAISE_S + 120)
    assert len(double.requests) == 3, "objects, orders, HPAs: what was seen Ready is not looked at again"


# --- remembered ---


def seen(*totals_s: int) -> dict[str, list[Start]]:
    return {"support-bot": [Start(KIND, at(-n), f"s{n}", total, Phases()) for n, total in enumerate(totals_s)]}


def test_a_write_in_between_is_read_and_kept_too() -> None:
    double = api(300)
    inner, once = double._config_map, [True]

    def before(request: httpx2.Request, name: str) -> httpx2.Response:
        if request.method == "PATCH" and once.pop():
            double.config_maps[NAME] = {**known(300, 320), "metadata": {**known()["metadata"], "resourceVersion": "9"}}
            once.append(False)
        return inner(request, name)

    double._config_map = before  # type: ignore[method-assign]
    remembered = keeping.remember(double.cluster(), "local", seen(305), 1, at(0))
    assert remembered.notes == ()
    kept = parse_data(double.config_maps[NAME]["data"]).starts["support-bot"]
    assert sorted(one.total_s for one in kept) == [300, 305, 320]
    assert kept == remembered.history.starts["support-bot"]


def test_who_writes_without_end_is_a_note() -> None:
    double = api(300)
    inner = double._config_map

    def conflict(request: httpx2.Request, name: str) -> httpx2.Response:
        if request.method == "PATCH":
            return httpx2.Response(409, json={"kind": "Status", "code": 409, "message": "the object has been modified"})
        return inner(request, name)

    double._config_map = conflict  # type: ignore[method-assign]
    (note,) = keeping.remember(double.cluster(), "local", seen(305), 1, at(0)).notes
    assert note == f"the starts seen are not kept: somebody else wrote {NAME} 4 times"


def test_what_may_not_be_read_or_written_is_a_note_and_no_failure() -> None:
    double = api(300)

    def denied(request: httpx2.Request, name: str) -> httpx2.Response:
        return httpx2.Response(403, json={"kind": "Status", "code": 403, "message": "configmaps is forbidden"})

    double._config_map = denied  # type: ignore[method-assign]
    (note,) = keeping.read(double.cluster(), "local").notes
    assert note.startswith("the measured starts cannot be read, platform.yaml's lead times count: configmaps is forb")
    remembered = keeping.remember(double.cluster(), "local", seen(305), 1, at(0))
    assert remembered.notes == ("the starts seen are not kept: configmaps is forbidden",)
    assert remembered.history.starts["support-bot"][0].total_s == 305, "what was seen counts here and now"


def test_why_a_start_is_not_measured_is_told_once_for_all_pods() -> None:
    pods = [pod(f"support-bot-5c9-{name}", restarts=1) for name in ("aaaaa", "bbbbb")]
    starts, notes = measuring.measured(local().platform, pods, at(0))
    assert starts == {}
    (note,) = notes
    assert note.startswith("support-bot: the starts of 2 pods are not measured: a container of it was restarted")
