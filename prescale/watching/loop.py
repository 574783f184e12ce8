"""Look again and again, until it is warm, too late, or time to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from whenever import Instant

from prescale.pod_states import PodState
from prescale.warmth import Ask
from prescale.watching.frame import Frame
from stacks.reach import OutOfReach

# A Ready pod that answered is asked again after so long: every look would be a load of its own.
ASK_AGAIN_S = 30.0

End = Literal["warm", "late", "timeout"]


@dataclass(frozen=True)
class Watch:
    """What to look with, and how to tell. `lost` is told each failure after the first look that came through.

    `timeout_s` None is without end. `until_warm` also ends at the start of an event that is not warm by then.
    """

    look: Callable[[], Frame]
    show: Callable[[Frame], None]
    lost: Callable[[OutOfReach], None]
    interval_s: float
    timeout_s: float | None
    until_warm: bool
    clock_s: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], Instant] = Instant.now


def follow(watch: Watch) -> End:
    """Look until the end.

    Raises:
        OutOfReach: the first look failed, or the cluster was still out of reach at the end.
    """
    began_s, began = watch.clock_s(), watch.now()
    last: Frame | None = None
    while True:
        away: OutOfReach | None = None
        try:
            last = watch.look()
        except OutOfReach as error:
            if last is None:
                raise
            away = error
            watch.lost(error)
            last = Frame(watch.now(), last.rows)
        else:
            watch.show(last)
        spent_s = watch.clock_s() - began_s
        end = _end(watch, last, began, spent_s, is_seen=away is None)
        if end and away:
            raise away
        if end:
            return end
        left_s = watch.interval_s if watch.timeout_s is None else watch.timeout_s - spent_s
        watch.sleep(max(0.0, min(watch.interval_s, left_s)))


def _end(watch: Watch, last: Frame, began: Instant, spent_s: float, *, is_seen: bool) -> End | None:
    if watch.until_warm and is_seen and last.is_warm:
        return "warm"
    if watch.until_warm and last.missed(began):
        return "late"
    if watch.timeout_s is not None and spent_s >= watch.timeout_s:
        return "warm" if is_seen and last.is_warm else "timeout"
    return None


def sparing(ask: Ask, clock_s: Callable[[], float] = time.monotonic) -> Ask:
    """Ask a pod that answered only every `ASK_AGAIN_S`, and one that did not each time."""
    answered_s: dict[str, float] = {}

    def asked(pods: Sequence[tuple[PodState, str]]) -> Mapping[str, str | None]:
        now_s = clock_s()
        due = [(pod, model) for pod, model in pods if now_s - answered_s.get(pod.name, -ASK_AGAIN_S) >= ASK_AGAIN_S]
        answers: dict[str, str | None] = {pod.name: None for pod, _ in pods}
        if due:
            answers |= ask(due)
        for pod, _ in due:
            if answers[pod.name] is None:
                answered_s[pod.name] = now_s
            else:
                answered_s.pop(pod.name, None)
        return answers

    return asked
