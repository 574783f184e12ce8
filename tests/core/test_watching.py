from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from whenever import Instant

from prescale.lead_time import pod as typed
from prescale.lead_time.progress import Progress, progress
from prescale.lead_time.reckoning import LeadTime
from prescale.pod_states import PodState, pod_states
from prescale.warmth import Warmth
from prescale.watching.frame import Frame, frame
from prescale.watching.loop import ASK_AGAIN_S, Watch, follow, sparing
from prescale.windows.window import Timetable
from stacks.reach import OutOfReach
from tests.core.decision_cases import HERE, T0, window
from tests.core.decision_cases import at as at_t0
from tests.core.start_cases import at, pod, text

LEAD = LeadTime(
    "measured",
    (("nodes", 60), ("image", 30), ("weights", 120), ("engine start", 180), ("readiness gates", 10)),
    300,
)

# --- how far a pod is ---

NOT_YET: dict[str, Any] = {"containers_ready": None, "ready": None}
WAITING: dict[str, Any] = {**NOT_YET, "engine": None}


@pytest.mark.parametrize(
    ("given", "stage", "left_s"),
    [
        (pod(**WAITING, scheduled=None, loads=None), "unscheduled", 100 + 340),
        (pod(**WAITING, scheduled=90, loads=None), "pulling", 90 + 340),
        (pod(**WAITING, scheduled=20, loads=None), "pulling", 100 + 310),
        (pod(**WAITING, scheduled=20, loads=(50, None)), "init", 50 + 310),
        (pod(**WAITING, scheduled=20, loads=(50, 170)), "pulling", 170 + 190),
        (pod(**NOT_YET, engine=180), "starting", 180 + 190),
        (pod(containers_ready=350, ready=None), "starting", 350 + 10),
        (pod(), "ready", 100),
    ],
    ids=["no node", "first image", "slow image", "weights", "engine's image", "engine", "readiness gate", "ready"],
)
def test_the_last_moment_that_has_come_says_where_a_pod_is(given: dict[str, Any], stage: str, left_s: int) -> None:
    found = progress(typed.read(given))
    assert (found.stage, found.ready_at(LEAD, at(100))) == (stage, at(left_s))


def test_what_is_due_may_end_now_and_what_comes_after_it_not_before() -> None:
    assert progress(typed.read(pod(**NOT_YET))).ready_at(LEAD, at(9999)) == at(9999 + 10), "the readiness gates"
    assert progress(typed.read(pod(containers_ready=350, ready=None))).ready_at(LEAD, at(9999)) == at(9999)


def test_a_pod_that_was_ready_before_is_no_start_and_may_be_back_any_moment() -> None:
    given = pod(**NOT_YET)
    for condition in given["status"]["conditions"]:
        if condition["type"] == "Ready":
            condition["lastTransitionTime"] = text(400)
    found = progress(typed.read(given))
    assert (found.stage, found.why) == ("starting", "it was Ready before")
    assert found.ready_at(LEAD, at(401)) == at(411), "what a readiness gate takes"


def test_what_the_cluster_says_of_a_pod_that_does_not_come_on() -> None:
    unscheduled = pod(**WAITING, scheduled=None, loads=None)
    condition = next(one for one in unscheduled["status"]["conditions"] if one["type"] == "PodScheduled")
    condition["message"] = "0/18 nodes are available: 18 Insufficient nvidia.com/gpu."
    assert progress(typed.read(unscheduled)).why == condition["message"]

    broken = pod(**WAITING, loads=None)
    broken["status"]["initContainerStatuses"][0]["state"] = {"waiting": {"reason": "ImagePullBackOff"}}
    assert progress(typed.read(broken)).why == "ImagePullBackOff of container weights"

    crashing = pod(**WAITING, restarts=2)
    found = progress(typed.read(crashing))
    assert (found.stage, found.why) == ("starting", "container engine was restarted 2 x")
    assert found.ready_at(LEAD, at(500)) == at(690)
    assert progress(typed.read(pod(**WAITING, scheduled=5, loads=None))).why is None


# --- one look ---


def state(name: str, found: Progress, *, ready: bool = False) -> PodState:
    return PodState(name, "support-bot", "127.0.0.1", 8000, at_t0(-600), is_ready=ready, progress=found)


def warmth(**changes: Any) -> Warmth:
    given = Warmth("support-bot", "sale", 7, 7, 5, 5, ("5 of 7 Ready",), ready_by=at_t0(-60), t0=T0.to_tz("UTC"))
    return replace(given, **changes)


def of(one: Warmth, *pods: PodState, seconds: float = -300) -> Frame:
    return frame([one], pods, Timetable(HERE, (window(),)), at_t0(seconds))


def test_a_row_counts_the_pods_by_how_far_they_are() -> None:
    pulling = Progress("pulling", 1, at_t0(-500), "ImagePullBackOff of container engine")
    ready = Progress("ready", 4, at_t0(-500))
    (row,) = of(warmth(), state("a", pulling), state("b", pulling), state("c", ready, ready=True)).rows
    assert dict(row.stages) == {"pulling": 2, "ready": 1}
    assert row.why == ("ImagePullBackOff of container engine",)
    assert (row.t0, row.raise_at) == (T0.to_tz("UTC"), None)


def test_without_an_event_the_next_one_is_shown() -> None:
    (row,) = of(warmth(event=None, t0=None), seconds=-7200).rows
    assert (row.t0, row.raise_at) == (window().start, at_t0(-1800))
    (row,) = of(warmth(event=None, t0=None), seconds=5 * 3600).rows
    assert (row.t0, row.raise_at) == (None, None)


def test_time_alone_makes_no_other_row() -> None:
    assert of(warmth(), seconds=-300).rows[0].key == of(warmth(ready_by=at_t0(-30)), seconds=-200).rows[0].key
    assert of(warmth()).rows[0].key != of(warmth(ready=6)).rows[0].key


# --- looking on ---

AWAY = OutOfReach("https://api.example:6443", "no answer within 10 s", "Is it up?")
WARM = warmth(ready=7, answering=7, missing=(), ready_by=None)


class Evening:
    """Looks that were planned, on a clock of its own."""

    def __init__(self, *looks: Frame | OutOfReach) -> None:
        self.looks: Iterator[Frame | OutOfReach] = iter(looks)
        self.passed_s = 0.0
        self.told: list[str] = []

    def look(self) -> Frame:
        found = next(self.looks)
        if isinstance(found, OutOfReach):
            raise found
        return Frame(self.now(), found.rows)

    def now(self) -> Instant:
        return at_t0(-100 + self.passed_s)

    def sleep(self, seconds: float) -> None:
        self.passed_s += seconds

    def watch(self, *, timeout_s: float | None = None, until_warm: bool = True) -> Watch:
        return Watch(
            self.look,
            lambda shown: self.told.append("warm" if shown.is_warm else "cold"),
            lambda error: self.told.append("away"),
            10.0,
            timeout_s,
            until_warm,
            clock_s=lambda: self.passed_s,
            sleep=self.sleep,
            now=self.now,
        )


def test_until_warm_ends_when_it_is() -> None:
    evening = Evening(of(warmth()), of(warmth()), of(WARM))
    assert follow(evening.watch()) == "warm"
    assert (evening.told, evening.passed_s) == (["cold", "cold", "warm"], 20)


def test_until_warm_ends_at_the_start_of_an_event_that_is_not() -> None:
    evening = Evening(*[of(warmth())] * 30)
    assert follow(evening.watch()) == "late"
    assert evening.now() == T0


def test_an_event_that_had_begun_before_is_waited_for() -> None:
    evening = Evening(*[of(warmth())] * 3, of(WARM))
    evening.passed_s = 200
    assert follow(evening.watch()) == "warm"


@pytest.mark.parametrize(("last", "end"), [(warmth(), "timeout"), (WARM, "warm")])
def test_the_timeout_ends_either_way(last: Warmth, end: str) -> None:
    evening = Evening(*[of(last)] * 30)
    assert follow(evening.watch(timeout_s=25, until_warm=False)) == end
    assert evening.passed_s == 25


def test_without_until_warm_nothing_but_the_timeout_ends_it() -> None:
    evening = Evening(*[of(WARM)] * 2, *[of(warmth())] * 28)
    assert follow(evening.watch(timeout_s=200, until_warm=False)) == "timeout"
    assert evening.now() > T0


def test_a_loss_is_told_and_tried_again() -> None:
    evening = Evening(of(warmth()), AWAY, AWAY, of(WARM))
    assert follow(evening.watch()) == "warm"
    assert evening.told == ["cold", "away", "away", "warm"]


@pytest.mark.parametrize("timeout_s", [25, None], ids=["timeout", "T0"])
def test_still_lost_at_the_end_is_out_of_reach(timeout_s: float | None) -> None:
    evening = Evening(of(warmth()), *[AWAY] * 30)
    with pytest.raises(OutOfReach):
        follow(evening.watch(timeout_s=timeout_s))
    assert evening.passed_s == (timeout_s or 100)


def test_a_warm_look_before_a_loss_is_not_warm_now() -> None:
    evening = Evening(of(WARM), *[AWAY] * 30)
    with pytest.raises(OutOfReach):
        follow(evening.watch(timeout_s=25, until_warm=False))


def test_out_of_reach_from_the_start_is_not_waited_for() -> None:
    evening = Evening(AWAY, of(WARM))
    with pytest.raises(OutOfReach):
        follow(evening.watch())
    assert evening.passed_s == 0


def test_who_answered_is_asked_again_only_after_a_while() -> None:
    ready = Progress("ready", 4, at_t0(0))
    pods = [(state(name, ready, ready=True), "m") for name in ("a", "b")]
    asked: list[list[str]] = []
    clock = [0.0]

    def ask(due: Any) -> dict[str, str | None]:
        asked.append([one.name for one, _ in due])
        return {one.name: "HTTP 503" if one.name == "b" else None for one, _ in due}

    careful: Callable[..., Any] = sparing(ask, lambda: clock[0])
    assert careful(pods) == {"a": None, "b": "HTTP 503"}
    clock[0] = 1
    assert careful(pods) == {"a": None, "b": "HTTP 503"}
    clock[0] = ASK_AGAIN_S
    careful(pods)
    assert asked == [["a", "b"], ["b"], ["a", "b"]]


def test_a_pod_whose_start_is_told_in_no_known_way_is_a_pod_all_the_same() -> None:
    given = pod(ready=None)
    given["status"]["containerStatuses"] = [{"restartCount": 0}]
    (found,) = pod_states([given])
    assert (found.progress.stage, found.progress.began) == ("unscheduled", at(0))
