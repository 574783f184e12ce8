"""What is said of a service whose floor no object holds where it was looked for: the same by every command."""

from __future__ import annotations

from stacks.scaler import Scaler


def of(stack: str, where: str, adopted: Scaler | None, *, are_others: bool, has_keda: bool = True) -> str:
    """Why there is nothing to raise, and what to do; `are_others` says that other services of the stack have theirs."""
    if not has_keda and needs_keda(adopted):
        return without_keda(where)
    if adopted is not None:
        return not_adopted(stack, where, adopted)
    return not_among_the_others(stack, where) if are_others else nothing_of(stack, where)


def needs_keda(adopted: Scaler | None) -> bool:
    """Whether a service's floor is held by a ScaledObject: what is built has one, an adopted HPA has none."""
    return adopted is None or adopted.kind == "ScaledObject"


def without_keda(where: str) -> str:
    """No ScaledObject can be there, whoever would make it."""
    fix = "Install KEDA, or name another context: cluster.context in platform.yaml."
    return f"no ScaledObject can be in {where}, which is a cluster without KEDA. {fix}"


def nothing_of(stack: str, where: str) -> str:
    """No service of the stack has one: it was not built yet, or this is another cluster."""
    fix = f"Run `pulumi up -s {stack}`, or name another context: cluster.context in platform.yaml."
    return f"nothing of stack {stack} is in {where} yet. {fix}"


def not_among_the_others(stack: str, where: str) -> str:
    """Other services of the stack have theirs, so this is the right cluster."""
    fix = f"Run `pulumi up -s {stack}`."
    return f"no ScaledObject in {where}, where other services of stack {stack} have theirs. {fix}"


def not_adopted(stack: str, where: str, adopted: Scaler) -> str:
    """What others made was not taken yet, or was made anew since."""
    fix = f"Run `warmline prescale adopt NAMESPACE/{adopted.name} -s {stack}`."
    return f"{adopted.kind} {adopted.name} does not carry the labels of stack {stack} in {where}. {fix}"
