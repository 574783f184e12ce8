"""A container from its image to its end, as often as its pod's restart policy starts it."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time

from lightkube.models.core_v1 import Container

from sandbox.kubelet.asking import http_get
from sandbox.kubelet.container import command_of, environment_of, gpus_of, is_engine
from sandbox.kubelet.image import image_present
from sandbox.kubelet.probing import ContainerProbes
from sandbox.kubelet.process import start_engine
from sandbox.kubelet.status import ContainerView, clock_text
from sandbox.kubelet.termination import pre_stop_of, sleep_s_of, termination_times
from sandbox.kubelet.world import PodWorld

_MAX_BACKOFF_S = 300.0
_LOOK_S = 0.2
"""How often a wait looks whether the grace period was shortened meanwhile."""


class ContainerLife:
    """Runs one container of the pod; an engine is a process, anything else only an entry in the status."""

    def __init__(self, container: Container, view: ContainerView, world: PodWorld, restart_policy: str) -> None:
        """`view` is what the pod's status shows of it."""
        self._container = container
        self._view = view
        self._world = world
        self._restart_policy = restart_policy
        self._process: asyncio.subprocess.Process | None = None
        self._reaper: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()
        self._over = asyncio.Event()
        self._exit_code = 0
        self._is_stopping = False

    async def live(self) -> None:
        """Until the container has ended for good; restarts it with a growing wait, as its policy says."""
        backoff_s = 0.0
        while True:
            if not await image_present(self._container, self._world):
                self._show({"waiting": {"reason": "ErrImageNeverPull"}})
                await asyncio.Event().wait()
            if self._is_stopping:
                return
            begun, begun_s = clock_text(), time.monotonic()
            code = await self._one_life(begun)
            ended = {"exitCode": code, "startedAt": begun, "finishedAt": clock_text(), "reason": _reason(code)}
            self._view.is_ready = self._view.is_started = False
            self._show({"terminated": ended})
            self._over.set()
            may_restart = self._restart_policy == "Always" or (self._restart_policy == "OnFailure" and code != 0)
            if self._is_stopping or not may_restart:
                return
            self._view.last_state = {"terminated": ended}
            if time.monotonic() - begun_s > 2 * _MAX_BACKOFF_S:
                backoff_s = 0.0
            if backoff_s:
                self._show({"waiting": {"reason": "CrashLoopBackOff", "message": f"back-off {backoff_s:g}s"}})
                await asyncio.sleep(backoff_s)
            backoff_s = min(_MAX_BACKOFF_S, backoff_s * 2 or self._world.settings.restart_backoff_s)
            self._view.restarts += 1

    async def stop(self, seen_s: float) -> None:
        """End it as a deletion seen at `seen_s` (monotonic) asks: preStop, SIGTERM, at the end of the grace SIGKILL."""
        self._is_stopping = True
        if not self._view.is_running:
            return
        self._world.record("Normal", "Killing", f"Stopping container {self._container.name}")
        await self._end_process(seen_s)
        await self._over.wait()

    def kill(self) -> None:
        """SIGKILL, now."""
        self._is_stopping = True
        self._signal(signal.SIGKILL)

    async def _one_life(self, begun: str) -> int:
        self._ended.clear()
        self._over.clear()
        self._exit_code = 0
        await self._start()
        self._show({"running": {"startedAt": begun}})
        self._world.record("Normal", "Started", f"Started container {self._container.name}")
        if self._process is None and self._restart_policy != "Always":
            return 0
        probes = ContainerProbes(self._container, self._view, self._world)
        while True:
            unhealthy = asyncio.create_task(probes.until_unhealthy())
            ended = asyncio.create_task(self._ended.wait())
            try:
                await asyncio.wait({unhealthy, ended}, return_when=asyncio.FIRST_COMPLETED)
                if ended.done():
                    return self._exit_code
                await self._restart_unhealthy(unhealthy.result())
            finally:
                unhealthy.cancel()
                ended.cancel()

    async def _restart_unhealthy(self, probe: str) -> None:
        if self._is_stopping:
            # Only readiness counts once the pod is on its way out.
            await self._ended.wait()
            return
        name = self._container.name
        self._world.record("Normal", "Killing", f"Container {name} failed {probe} probe, will be restarted")
        self._view.is_ready = False
        self._world.changed()
        await self._end_process(time.monotonic())

    async def _start(self) -> None:
        world, container = self._world, self._container
        if not is_engine(container, world.settings.engine_images):
            self._process = None
            return
        times = world.times
        start_s = world.settings.jittered(times.engine_start_s, world.name, container.name)
        timing = {**times.engine, "start_s": start_s, "gpus": gpus_of(container)}
        variables = environment_of(container, world.pod, world.pod_ip, world.node_name)
        command = command_of(container, variables)
        log = world.log_file(container.name)
        self._process = await start_engine(command, world.pod_ip, timing, log, world.register)
        self._reaper = asyncio.create_task(self._reap(self._process))

    async def _reap(self, process: asyncio.subprocess.Process) -> None:
        code = await process.wait()
        self._world.register.remove(process.pid)
        # The container runtime's way to say "killed by a signal".
        self._exit_code = code if code >= 0 else 128 - code
        self._ended.set()

    async def _end_process(self, seen_s: float) -> None:
        paid_s = await self._pre_stop(seen_s)
        self._signal(signal.SIGTERM)
        if self._process is None:
            self._ended.set()
        while not self._ended.is_set():
            left_s = seen_s + termination_times(self._world.grace_s, paid_s).sigkill_s - time.monotonic()
            if left_s <= 0:
                self._signal(signal.SIGKILL)
                await self._ended.wait()
                return
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), min(left_s, _LOOK_S))

    async def _pre_stop(self, seen_s: float) -> float:
        """Carry out preStop for at most the grace period; returns the seconds it took of it."""
        handler = pre_stop_of(self._container)
        if handler is None:
            return 0.0
        sleep_s = sleep_s_of(handler)
        if sleep_s is not None:
            while (left_s := seen_s + min(sleep_s, self._world.grace_s) - time.monotonic()) > 0:  # noqa: ASYNC110
                await asyncio.sleep(min(left_s, _LOOK_S))
        elif handler.httpGet is not None:
            try:
                async with asyncio.timeout(self._world.grace_s):
                    answer = await http_get(handler.httpGet, self._container, self._world.pod_ip)
                failure = answer.message
            except (OSError, TimeoutError) as fault:
                failure = str(fault) or "no answer within the grace period"
            if failure:
                self._world.record("Warning", "FailedPreStopHook", f"PreStopHook failed: {failure}")
        else:
            what = "the kubelet double carries out sleep, exec of sleep and httpGet only"
            self._world.record("Warning", "FailedPreStopHook", f"PreStopHook failed: {what}")
        return time.monotonic() - seen_s

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)
        elif self._process is None and number == signal.SIGKILL:
            self._ended.set()

    def _show(self, state: dict[str, dict[str, object]]) -> None:
        self._view.state = state
        self._world.changed()


def _reason(code: int) -> str:
    return "Completed" if code == 0 else "Error"
