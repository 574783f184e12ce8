"""Rules over a platform that need to know the engines. Checked before anything is registered."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from capacity.replicas import decimal_text, least_in_flight_limit
from infra.dialects.dialect import Launch
from infra.dialects.table import dialect_of, lacking, reserved_args
from stacks.faults import Fault, InputError, Misfit
from stacks.folders import PLATFORM_FILE, shown, stacks_root
from stacks.loader import load_platform
from stacks.spec import Platform, Service
from stacks.yaml_text import dotted, parse


def misfits(platform: Platform) -> Iterator[Misfit]:
    """Every rule over all services, in the order of the file."""
    first: dict[str, str] = {}
    for name, service in platform.services.items():
        if service.adopted is None:  # whoever built the others says how their engines are started
            yield from _reserved(name, service)
            yield from _old_engine(name, service)
            yield from _load_can_be_seen(name, service)
        model = service.model.name
        if model in first:
            # Both would answer the query of either, and each would scale on the load of the two.
            expected = f"a name that no other service of the namespace serves ({first[model]} does)"
            fix = "Give one of the two another model name; clients ask for it by that."
            yield Misfit(("services", name, "model", "name"), model, expected, fix)
        first.setdefault(model, name)


def _reserved(name: str, service: Service) -> Iterator[Misfit]:
    reserved = reserved_args(service.engine.kind)
    for flag in service.engine.args:
        bare = flag.removeprefix("no-")
        # Engines accept a flag's unique beginning for the flag, in the middle of a word too.
        hit = next((known for known in sorted(reserved) if known.startswith(bare)), None)
        if hit:
            path = ("services", name, "engine", "args", flag)
            yield Misfit(path, f"--{flag}", "a flag that is not Warmline's to keep", reserved[hit].replace("*", name))


def _old_engine(name: str, service: Service) -> Iterator[Misfit]:
    """An engine that is given a flag it does not know does not start."""
    engine, place = service.engine, ("services", name, "engine")
    for argument in dialect_of(engine.kind).arguments(Launch(service, "", 0, 0)):
        flag = argument.removeprefix("--").partition("=")[0]
        brought = lacking(engine, flag) if argument.startswith("--") else None
        if brought is None:
            continue
        if flag in engine.args:
            fix = f"Remove it, or raise services.{name}.engine.version, with its image, to {brought}."
            expected = f"{brought} or newer, which has it"
            yield Misfit((*place, "args", flag), f"--{flag} of {engine.kind} {engine.version}", expected, fix)
        else:
            expected = f"{brought} or newer: every engine is started with --{flag}"
            yield Misfit((*place, "version"), engine.version, expected, "Raise it, and the image with it.")


def _load_can_be_seen(name: str, service: Service) -> Iterator[Misfit]:
    """An engine that refuses requests at its target never shows more, so nothing would ever be added."""
    dialect = dialect_of(service.engine.kind)
    target = Fraction(service.capacity.in_flight_per_replica)
    for flag, value in service.engine.args.items():
        # Engines accept a flag's unique beginning for the flag.
        is_limit = dialect.in_flight_limit.startswith(flag) and not any(k.startswith(flag) for k in dialect.reserved)
        if not is_limit or not re.fullmatch("[0-9]{1,9}", value):
            continue
        least = least_in_flight_limit(target)
        if int(value) < least:
            path = ("services", name, "engine", "args", flag)
            expected = f"{least} or more: replicas are added above {decimal_text(target)} x 1.1 in flight"
            fix = "Raise it, or lower in_flight_per_replica to what was measured with it."
            yield Misfit(path, value, expected, fix)


def checked_platform(stack: str) -> Platform:
    """Load one stack's platform, held to the rules of this module too.

    Raises:
        InputError: with every fault found; those of `stacks.loader` hide those of this module.
    """
    platform = load_platform(stack)
    wrong = list(misfits(platform))
    if wrong:
        path = stacks_root() / stack / PLATFORM_FILE
        document = parse(path.read_text(encoding="utf-8"), shown(path))
        raise InputError(
            Fault(shown(path), document.line(item.path), dotted(item.path), item.got, item.expected, item.fix)
            for item in wrong
        )
    return platform
