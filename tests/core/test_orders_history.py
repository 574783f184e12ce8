"""Whatever people order and whenever anything is killed, the next run makes it so: floor = max(baseline, what counts).

A model keeps what was said, one line each, and knows nothing of records, patches and who wrote what.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import httpx2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prescale import sync as syncing
from prescale.orders.giving import Answer, hold, raise_floor
from prescale.orders.known import Unknown
from prescale.orders.letting_go import cancel, release, take_back
from stacks import ownership
from tests.core.api_double import ApiDouble
from tests.core.cluster_double import scaled_object
from tests.core.decision_cases import HOUR, window
from tests.core.order_cases import ALICE, BOT, hand, runner

EVENTS = (window("a", 6, -HOUR, 0, 3 * HOUR), window("b", 9, 2 * HOUR, 2 * HOUR, 5 * HOUR))
ENDS = {"a": 3 * HOUR, "b": 5 * HOUR}
STARTS = {"a": -HOUR, "b": 2 * HOUR}
BASELINE, CEILING = 2, 12


API = ApiDouble()
"""One for all plays: making a client takes longer than a play."""


def fresh() -> ApiDouble:
    API.objects = {BOT: scaled_object(maximum=CEILING)}
    API.config_maps, API.running, API.minimums = {}, {}, {}
    for record in (API.requests, API.patches):
        record.clear()
    API._reconcile()
    return API


class Killed(BaseException):
    """SIGKILL, as far as one process can tell."""


@dataclass
class Play:
    """The cluster, and beside it what was said: [name, floor, until, is_cancelled] of orders, cancelled events."""

    api: ApiDouble = field(default_factory=fresh)
    seconds: int = -2 * HOUR
    floors: list[list[Any]] = field(default_factory=list)
    off: set[str] = field(default_factory=set)

    def wanted(self) -> int:
        events = [w.floor for w in EVENTS if w.event not in self.off and self.is_on(w.event)]
        orders = [int(floor) for _, floor, until, is_off in self.floors if self.seconds < until and not is_off]
        return max([BASELINE, *events, *orders])

    def is_on(self, event: str) -> bool:
        return STARTS[event] <= self.seconds < ENDS[event]

    def act(self, action: tuple[Any, ...], kill: int | None) -> None:
        """One command or run, killed before its write number `kill`; a word counts once it is written."""
        before = set(self.api.orders())
        live = self.api.minimum()
        with suppress(Killed, Unknown), _killing(self.api, kill):
            self._say(action)
        if action[0] == "wait" or action[0] == "run":
            return
        self._note(action, live, set(self.api.orders()) - before, before - set(self.api.orders()))

    def _say(self, action: tuple[Any, ...]) -> None:
        match action:
            case ("wait", seconds):
                self.seconds += seconds
            case ("run",):
                runner(self.api, self.seconds, *EVENTS)
            case ("now", floor, lasts_s):
                self._by_hand(lambda run: raise_floor(run, BOT, floor, lambda at: at.add(seconds=lasts_s), ALICE))
            case ("hold", running, lasts_s):
                self.api.running = {f"keda-hpa-{BOT}": running}
                self._by_hand(lambda run: hold(run, BOT, lambda at: at.add(seconds=lasts_s), ALICE))
            case ("cancel", which):
                self._by_hand(lambda run: cancel(run, self._name(which), None, ALICE))
            case ("undo", which):
                self._by_hand(lambda run: take_back(run, self._name(which)))
            case ("release",):
                self._by_hand(lambda run: release(run, BOT, ALICE))

    def _by_hand(self, command: Any) -> Answer:
        answer: Answer = command(hand(self.api, self.seconds, *EVENTS))
        return answer

    def _name(self, which: str | int) -> str:
        if isinstance(which, str):
            return which
        return self.floors[which % len(self.floors)][0] if self.floors else "a"

    def _note(self, action: tuple[Any, ...], live: int, added: set[str], gone: set[str]) -> None:
        match action:
            case ("now", floor, lasts_s):
                self.floors += [[name, floor, self.seconds + lasts_s, False] for name in added]
            case ("hold", running, lasts_s):
                floor = min(CEILING, max(live, running))
                self.floors += [[name, floor, self.seconds + lasts_s, False] for name in added]
            case ("cancel", which) if added:
                self._mark(self._name(which), is_off=True)
            case ("undo", which) if gone:
                self._mark(self._name(which), is_off=False)
            case ("release",) if added:
                for order in self.floors:
                    order[3] = order[3] or self.seconds < order[2]

    def _mark(self, name: str, *, is_off: bool) -> None:
        for order in self.floors:
            if order[0] == name:
                order[3] = is_off
        if name in ENDS:
            self.off = self.off | {name} if is_off else self.off - {name}


class _killing:  # noqa: N801 - it is read as a word
    def __init__(self, api: ApiDouble, at_write: int | None) -> None:
        self.api, self.left = api, at_write

    def __enter__(self) -> None:
        self.handle = self.api.handle
        self.api.handle = self._handle  # type: ignore[method-assign]

    def __exit__(self, *_: object) -> None:
        self.api.handle = self.handle  # type: ignore[method-assign]

    def _handle(self, request: httpx2.Request) -> httpx2.Response:
        if request.method != "GET" and self.left is not None:
            if self.left == 0:
                raise Killed
            self.left -= 1
        return self.handle(request)


WHICH = st.sampled_from(["a", "b"]) | st.integers(0, 5)
SPANS = st.integers(1, 8).map(lambda n: n * 1800)
ACTIONS = st.one_of(
    st.tuples(st.just("wait"), SPANS),
    st.tuples(st.just("run")),
    st.tuples(st.just("now"), st.integers(1, CEILING), SPANS),
    st.tuples(st.just("hold"), st.integers(0, 15), SPANS),
    st.tuples(st.just("cancel"), WHICH),
    st.tuples(st.just("undo"), WHICH),
    st.tuples(st.just("release")),
)
HISTORIES = st.lists(st.tuples(ACTIONS, st.none() | st.integers(0, 2)), max_size=12)


@pytest.fixture(autouse=True, scope="module")
def _no_waiting() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(syncing, "IN_FORCE_WITHIN_S", 0.0)
        yield


@settings(max_examples=300, deadline=None)
@given(HISTORIES)
def test_the_next_run_reaches_what_was_said(history: list[tuple[tuple[Any, ...], int | None]]) -> None:
    play = Play()
    for action, kill in history:
        play.act(action, kill)
        annotations = play.api.objects[BOT]["metadata"]["annotations"]
        assert annotations[ownership.BASELINE_ANNOTATION] == str(BASELINE)
    outcome = runner(play.api, play.seconds, *EVENTS)
    assert (play.api.minimum(), outcome.findings) == (play.wanted(), ())
    assert runner(play.api, play.seconds, *EVENTS).patch is None


@settings(max_examples=100, deadline=None)
@given(HISTORIES)
def test_a_command_that_is_not_killed_is_in_force_at_its_end(history: list[tuple[tuple[Any, ...], int | None]]) -> None:
    """What it lets go it lets go, what it raises is raised; what else the runner had to do may still be to do."""
    play = Play()
    for action, _ in history:
        play.act(action, None)
        if action[0] in {"now", "hold"}:
            assert play.api.minimum() >= play.wanted()
        if action[0] == "run":
            assert play.api.minimum() == play.wanted()


@settings(max_examples=100, deadline=None)
@given(HISTORIES)
def test_once_all_of_it_is_over_nothing_is_left_of_it(history: list[tuple[tuple[Any, ...], int | None]]) -> None:
    play = Play()
    for action, kill in history:
        play.act(action, kill)
    runner(play.api, play.seconds + 24 * HOUR, *EVENTS)
    assert play.api.minimum() == BASELINE
    annotations = play.api.objects[BOT]["metadata"]["annotations"]
    assert annotations == {ownership.BASELINE_ANNOTATION: str(BASELINE)}
