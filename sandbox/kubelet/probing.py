"""Ask a running container's probes in a loop and act on what they say."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from lightkube.models.core_v1 import Container, Probe

from sandbox.kubelet.asking import ask
from sandbox.kubelet.probe import ProbeStreak, Verdict, times_of
from sandbox.kubelet.status import ContainerView
from sandbox.kubelet.world import PodWorld

_EVENT_EVERY_S = 30.0
"""The same failure is told again only after this."""


class ContainerProbes:
    """The three probes of one life of one container."""

    def __init__(self, container: Container, view: ContainerView, world: PodWorld) -> None:
        """The container's process has just started."""
        self._container = container
        self._view = view
        self._world = world
        self._begun_s = time.monotonic()

    async def until_unhealthy(self) -> str:
        """Keep `started` and `ready` true to the probes; returns which probe wants a restart, once one does."""
        container = self._container
        if container.startupProbe is not None:
            verdict = await self._loop("Startup", container.startupProbe, lambda verdict: verdict != "undecided")
            if verdict == "failed":
                return "startup"
        self._view.is_started = True
        if container.readinessProbe is None:
            self._view.is_ready = True
        self._world.changed()
        readiness = self._keep_ready()
        try:
            if container.livenessProbe is None:
                await asyncio.Event().wait()
            else:
                await self._loop("Liveness", container.livenessProbe, lambda verdict: verdict == "failed")
        finally:
            readiness.cancel()
        return "liveness"

    def _keep_ready(self) -> asyncio.Future[Verdict]:
        probe = self._container.readinessProbe
        if probe is None:
            return asyncio.get_running_loop().create_future()
        return asyncio.get_running_loop().create_task(self._loop("Readiness", probe, self._set_ready))

    def _set_ready(self, verdict: Verdict) -> bool:
        if verdict != "undecided" and self._view.is_ready != (verdict == "passed"):
            self._view.is_ready = verdict == "passed"
            self._world.changed()
        return False

    async def _loop(self, kind: str, probe: Probe, is_enough: Callable[[Verdict], bool]) -> Verdict:
        times, streak = times_of(probe), ProbeStreak()
        said_s: dict[str, float] = {}
        await asyncio.sleep(self._begun_s + times.initial_delay_s - time.monotonic())
        while True:
            asked_s = time.monotonic()
            answer = await ask(probe, self._container, self._world.pod_ip, times.timeout_s)
            streak = streak.after(is_success=answer.is_success)
            if not answer.is_success and asked_s - said_s.get(answer.message, -_EVENT_EVERY_S) >= _EVENT_EVERY_S:
                said_s[answer.message] = asked_s
                self._world.record("Warning", "Unhealthy", f"{kind} probe failed: {answer.message}")
            verdict = streak.verdict(times)
            if is_enough(verdict):
                return verdict
            await asyncio.sleep(asked_s + times.period_s - time.monotonic())
