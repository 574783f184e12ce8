"""The program `pulumi up` runs: the stack's name says which platform to build."""

from __future__ import annotations

import pulumi

from infra.assembly import assemble
from infra.checks import checked_platform
from stacks.faults import InputError


def program() -> None:
    """Build the platform of the current stack."""
    stack = pulumi.get_stack()
    try:
        platform = checked_platform(stack)
    except InputError as error:
        # A RunError ends the program with its text alone; any other would print a traceback over the faults.
        raise pulumi.RunError(str(error)) from None
    assemble(stack, platform)


if __name__ == "__main__":
    program()
