"""What is said of a service that has no ScaledObject where it was looked for: the same by every command."""

from __future__ import annotations


def nothing_of(stack: str, where: str) -> str:
    """No service of the stack has one: it was not built yet, or this is another cluster."""
    fix = f"Run `pulumi up -s {stack}`, or name another context: cluster.context in platform.yaml."
    return f"nothing of stack {stack} is in {where} yet. {fix}"


def not_among_the_others(stack: str, where: str) -> str:
    """Other services of the stack have theirs, so this is the right cluster."""
    fix = f"Run `pulumi up -s {stack}`."
    return f"no ScaledObject in {where}, where other services of stack {stack} have theirs. {fix}"
