"""Options that several commands share: one decorator each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def _stack(*, required: bool) -> Callable[[F], F]:
    return click.option(
        "-s",
        "--stack",
        envvar="WARMLINE_STACK",
        required=required,
        metavar="STACK",
        show_envvar=True,
        help="The environment: a folder below stacks/.",
        shell_complete=complete_stacks,
    )


def stack_option(command: F) -> F:
    """`-s/--stack`, as Pulumi has it."""
    return _stack(required=True)(command)


def stacks_option(command: F) -> F:
    """`-s/--stack` of a command that takes several, as the parameter `stack_names`."""
    return click.option(
        "-s",
        "--stack",
        "stack_names",
        envvar="WARMLINE_STACK",
        required=True,
        multiple=True,
        metavar="STACK",
        show_envvar=True,
        help="An environment: a folder below stacks/. May be given again; in the variable, names apart by spaces.",
        shell_complete=complete_stacks,
    )(command)


def optional_stack_option(command: F) -> F:
    """`-s/--stack` of a command that also does without."""
    return _stack(required=False)(command)


def output_option(*formats: str) -> Callable[[F], F]:
    """`-o/--output`; the first format is the default."""
    return click.option(
        "-o", "--output", type=click.Choice(formats), default=formats[0], show_default=True, help="Output format."
    )


def examples(*lines: str) -> str:
    r"""Make an epilog that keeps its lines. (A docstring's `\b` does not: in a raw string it is two characters.)"""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def complete_stacks(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """The stacks whose names begin so, for shell completion."""
    from stacks.folders import PLATFORM_FILE, stacks_root

    names = (path.parent.name for path in stacks_root().glob(f"*/{PLATFORM_FILE}"))
    return sorted(name for name in names if name.startswith(incomplete))
