"""Services that the real `pulumi up` builds, in a sandbox of their own where all of Kubernetes and KEDA act on them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sandbox import for_stack, lifecycle
from sandbox.layout import free_ports
from sandbox.places import REPOSITORY
from sandbox.reliability.gate import Call, Gate, StartLine, gate
from sandbox.reliability.oracle import Service
from sandbox.reliability.stack_on_disk import Ran, StackOnDisk, write_platform, write_stack
from sandbox.reliability.transition import is_done
from stacks.loader import load_platform

Say = Callable[[str], None]

STACK, NAMESPACE = "local", "serving"
WITHIN_S = 300.0
# What the physical times that no stack says, such as an image pull's, are divided by.
TIME_SCALE = 60


@dataclass
class Built(StackOnDisk):
    """`services` are what platform.yaml says now. The engine reaches the API server through `gate`."""

    gate: Gate = field(kw_only=True)
    line: StartLine | None = None

    @property
    def environment(self) -> dict[str, str]:
        directory = self.layout.directory
        path = f"{lifecycle.bin_directory(directory)}{os.pathsep}{os.environ.get('PATH', '')}"
        return {**super().environment, **for_stack.environment(directory), "PATH": path}

    def write(self, *services: Service) -> None:
        """Change platform.yaml: these take the places of those of the same names."""
        changed = {service.name: service for service in services}
        self.services = tuple(changed.get(service.name, service) for service in self.services)
        write_platform(self.stack, NAMESPACE, self.services, lifecycle.prometheus_url(self.layout.directory))

    def write_all(self, **fields: Any) -> None:
        """Change platform.yaml: every service gets these fields."""
        self.write(*(replace(service, **fields) for service in self.services))

    def pulumi(self, *arguments: str) -> Ran:
        """One command of the engine, from start to end."""
        argv = ["pulumi", *arguments, "-s", STACK, "--non-interactive", "--color", "never"]
        done = subprocess.run(
            argv,
            # Through the gate, which can hold a write of the engine's.
            env={**self.environment, "KUBECONFIG": str(self.gate.kubeconfig)},
            cwd=REPOSITORY,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
        return Ran(done.returncode, done.stdout, done.stderr)

    def act(self, command: str, *arguments: str) -> Ran:
        """A command that changes something, as a pipeline runs it."""
        return self.pulumi(command, "--yes", "--skip-preview", *arguments)

    def up_around_a_sync(self, writes: int) -> Ran:
        """`pulumi up` whose so many writes of ScaledObjects wait, all read already, until a sync has run."""
        synced: list[Ran] = []
        self.line = StartLine(writes, lambda: synced.append(self.run()))
        try:
            ran = self.act("up")
        finally:
            self.line = None
        if not synced or not is_done(synced[0]):
            raise AssertionError(f"no sync went through between read and write: {synced} {ran}")
        return ran

    def hold(self, call: Call) -> None:
        """Let a write of a ScaledObject wait where there is something to wait for.

        Before it the engine sends a patch of nothing, whose answer is the last that it reads.
        """
        if self.line and call.command == "PATCH" and "/scaledobjects/" in call.target and "force=" in call.target:
            self.line.wait()


@contextmanager
def built(folder: Path, services: tuple[Service, ...], say: Say) -> Iterator[Built]:
    """A sandbox for a stack of these services, in `folder`; nothing is built there yet."""
    stack, directory = folder / "stacks" / STACK, folder / "sandbox"
    write_stack(stack, NAMESPACE, services, f"http://127.0.0.1:{free_ports(1)[0]}")
    with lifecycle.temporary(say, directory):
        platform = load_platform(STACK, folder / "stacks")
        layout = for_stack.up(STACK, platform, say, directory, time_scale=TIME_SCALE)
        with gate(layout.kubeconfig, folder) as opened:
            site = Built(layout, folder, NAMESPACE, services, STACK, gate=opened)
            opened.before_call = site.hold
            yield site
