"""`warmline prescale adopt`: take what others made, and let go of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from cli.exits import FINDING
from cli.options import examples, output_option, stack_option

if TYPE_CHECKING:
    from cli.prescale.order_desk import Desk
    from prescale.adoption.judging import Asked
    from prescale.adoption.taking import Taken
    from stacks.faults import Fault
    from stacks.loader import Stack
    from stacks.scaler import Kind


@click.command(
    epilog=examples(
        "warmline prescale adopt serving/vllm-support -s prod --dry-run",
        "warmline prescale adopt serving/vllm-support -s prod --baseline 2",
        "warmline prescale adopt serving/vllm-support -s prod --undo",
    ),
)
@click.argument("target", metavar="NAMESPACE/NAME")
@stack_option
@click.option(
    "--baseline",
    type=click.IntRange(0),
    metavar="REPLICAS",
    help="What it falls back to: replicas.min of platform.yaml, and refused if it is not.",
)
@click.option("--undo", is_flag=True, help="Let go of it: to its baseline, and all our labels and annotations off.")
@click.option("--dry-run", is_flag=True, help="Show the patch and change nothing.")
@output_option("table", "json", "yaml")
@click.pass_context
def adopt(
    ctx: click.Context, *, target: str, stack: str, baseline: int | None, undo: bool, dry_run: bool, output: str
) -> None:
    """Take NAMESPACE/NAME, which others made: from then on events and orders raise its floor, and nothing else of it.

    It is the ScaledObject or HPA that services.X.adopted of platform.yaml names, in the stack's namespace. It gets the
    stack's labels and its baseline in one patch; its floor is the next `sync`'s. Saying it again changes nothing,
    unless the baseline has changed. Exits 1 and changes nothing where it cannot be taken; exits 1 as well where a
    person has to mend something before an event: a pause, or a tool that applies the floor from a repository.
    """
    from cli.prescale.order_desk import Desk
    from prescale.adoption import taking
    from stacks.faults import InputError

    if undo and baseline is not None:
        raise click.UsageError("--undo takes it to the baseline that it has: leave --baseline out.")
    desk = Desk(stack, dry_run=dry_run)
    namespace, _, name = target.partition("/")
    service = next((service for service, one in desk.stack.platform.adopted.items() if one.name == name), None)
    faults = [*_faults(desk.stack, namespace, name, service, baseline, undo=undo)]
    if faults:
        raise InputError(faults)
    if undo:
        taken = taking.let_go(desk.uninstall_run(), _kinds(desk.stack, service), name)
    else:
        taken = taking.adopt(desk.cluster, _asked(desk, service or ""), dry_run=dry_run)
    _tell(taken, stack, namespace, output, undo=undo, dry_run=dry_run)
    if taken.findings:
        ctx.exit(FINDING)


def _faults(
    stack: Stack, namespace: str, name: str, service: str | None, baseline: int | None, *, undo: bool
) -> Iterator[Fault]:
    """What was said against what platform.yaml says, all of it at once."""
    from stacks.faults import Fault

    here = stack.platform.namespace
    if not name or "/" in name:
        fix = f"Write {here}/{name or namespace}."
        yield Fault("NAMESPACE/NAME", 0, "", repr(f"{namespace}/{name}"), "a namespace and a name", fix)
        return
    if namespace != here:
        expected = f"{here}, the namespace of stack {stack.name}: its runs look nowhere else"
        fix = (
            f"A target in {namespace} belongs to a stack of its own, whose platform.yaml says `namespace: {namespace}`."
        )
        yield Fault("NAMESPACE/NAME", 0, "", f"namespace {namespace}", expected, fix)
    if undo:  # also of what the file names no more
        return
    if service is None:
        entry = f"adopted: {{kind: ScaledObject or HorizontalPodAutoscaler, name: {name}, pod_labels: {{app: ...}}}}"
        fix = f"Add the service that it scales, with `{entry}`."
        expected = f"an object that a service adopts, not {name}"
        yield stack.fault(stack.platform_document, ("services",), "none that does", expected, fix)
        return
    said = stack.platform.services[service].replicas.min
    if baseline is not None and baseline != said:
        place = ("services", service, "replicas", "min")
        expected = f"--baseline {said}, by which plan and status reckon"
        fix = f"Say that, or set replicas.min: {baseline}."
        yield stack.fault(stack.platform_document, place, f"--baseline {baseline}", expected, fix)


def _asked(desk: Desk, service: str) -> Asked:
    from prescale.adoption.judging import Asked

    platform = desk.stack.platform
    by = desk.author("adopted").by
    return Asked(desk.stack.name, service, platform.adopted[service], platform.services[service].replicas, by)


def _kinds(stack: Stack, service: str | None) -> tuple[Kind, ...]:
    """Where it is looked for: as what the file has it, and else as either."""
    named = stack.platform.adopted.get(service or "")
    return (named.kind,) if named else ("ScaledObject", "HorizontalPodAutoscaler")


def _tell(taken: Taken, stack: str, namespace: str, output: str, *, undo: bool, dry_run: bool) -> None:
    if output == "table":
        click.echo("\n".join(_lines(taken, undo=undo, dry_run=dry_run)))
        return
    from cli.output import emit

    emit(_data(taken, stack, namespace, dry_run=dry_run), output)


def _data(taken: Taken, stack: str, namespace: str, *, dry_run: bool) -> dict[str, Any]:
    return {
        "stack": stack,
        "service": taken.service,
        "object": {"kind": taken.kind, "namespace": namespace, "name": taken.name},
        "adopted": taken.is_adopted,
        "dry_run": dry_run,
        "patch": taken.patch,
        "notes": list(taken.notes),
        "findings": list(taken.findings),
    }


def _lines(taken: Taken, *, undo: bool, dry_run: bool) -> Iterator[str]:
    """What became of it and the patch that did it, then notes; what needs a person starts with `!`."""
    name = f"{taken.service}: {taken.kind} {taken.name}" if taken.service else f"{taken.kind} {taken.name}"
    done = "is let go" if undo else "is adopted"
    if taken.patch is None:
        # Adopted before, or not found where nothing was to be let go: what was asked for is so.
        is_so = taken.is_adopted != undo
        yield f"{name} {done} already" if is_so else f"{name}: nothing was changed"
    else:
        yield f"{name} {done.replace('is ', 'would be ') if dry_run else done}"
        yield f"  {json.dumps(taken.patch)}"
    yield from (f"  {note}" for note in taken.notes)
    yield from (f"! {finding}" for finding in taken.findings)
