"""What `pulumi up` would register for a stack: offline, without an engine, in seconds.

`python -m infra.render -s STACK` prints it as JSON; `warmline review` runs that in another revision's checkout, so
its form is kept readable by older and newer code: {"stack": ..., "objects": [...], "outputs": {...}}.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from typing import Any

from infra.recording_monitor import Registration, record
from stacks.faults import InputError
from stacks.spec import Platform

PROJECT = "warmline"
"""As in Pulumi.yaml; part of every URN."""


@dataclass(frozen=True)
class Render:
    """All registrations of one stack, sorted by URN, and its outputs."""

    stack: str
    objects: tuple[Registration, ...]
    outputs: dict[str, Any]


def render(stack: str, platform: Platform) -> Render:
    """Run the program of a stack without an engine."""
    from infra.assembly import assemble

    recording = record(lambda: assemble(stack, platform), project=PROJECT, stack=stack)
    objects = tuple(registration for _, registration in sorted(recording.registrations.items()))
    return Render(stack, objects, recording.outputs)


def render_stack(stack: str) -> Render:
    """Load, check and render.

    Raises:
        InputError: with every fault of the stack's platform.
    """
    from infra.checks import checked_platform

    return render(stack, checked_platform(stack))


def main(arguments: list[str]) -> int:
    """Print one stack's render as JSON; faults go to stderr, with exit code 2."""
    if len(arguments) != 2 or arguments[0] not in {"-s", "--stack"}:
        print("usage: python -m infra.render -s STACK", file=sys.stderr)
        return 2
    try:
        rendered = render_stack(arguments[1])
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(json.dumps(asdict(rendered)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
