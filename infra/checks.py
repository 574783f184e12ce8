"""Rules over a platform that need to know the engines. Checked before anything is registered."""

from __future__ import annotations

from collections.abc import Iterator

from infra.dialects.table import reserved_args
from stacks.faults import Fault, InputError
from stacks.fit import Misfit
from stacks.loader import PLATFORM_FILE, load_platform, shown, stacks_root
from stacks.spec import Platform, Service
from stacks.yaml_text import dotted, parse


def misfits(platform: Platform) -> Iterator[Misfit]:
    """Every rule over all services, in the order of the file."""
    first: dict[str, str] = {}
    for name, service in platform.services.items():
        yield from _reserved(name, service)
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
        # Engines accept a flag's unique beginning for the flag.
        hit = next((known for known in sorted(reserved) if known == bare or known.startswith(f"{bare}-")), None)
        if hit:
            path = ("services", name, "engine", "args", flag)
            yield Misfit(path, f"--{flag}", "a flag that is not Warmline's to keep", reserved[hit].replace("*", name))


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
