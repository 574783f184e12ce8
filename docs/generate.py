"""Write docs/reference/ from the code: `make docs`. A test fails when a page is older than what it describes."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

import click
from click.testing import CliRunner
from pydantic.fields import FieldInfo

from cli.main import warmline
from cli.schema import FILES
from evidence.record import ServingRecord
from stacks.events import CalendarSpec
from stacks.field_types import Spec
from stacks.prices import Prices
from stacks.spec import Platform
from stacks.workloads import WorkloadsSpec

REFERENCE = Path(__file__).parent / "reference"
MADE = "<!-- Made by `make docs`; edit the code instead. -->\n"


def pages() -> dict[str, str]:
    """File name -> text of every page."""
    return {
        "platform.md": spec_page("platform.yaml", "warmline.schema.json", Platform),
        "events.md": spec_page("events.yaml", "warmline-events.schema.json", CalendarSpec),
        "workloads.md": spec_page("workloads.yaml", "warmline-workloads.schema.json", WorkloadsSpec),
        "prices.md": spec_page("prices.yaml", "warmline-prices.schema.json", Prices),
        "serving.md": spec_page("serving.yaml", "warmline-serving.schema.json", ServingRecord),
        "cli.md": "".join([MADE, "# Commands\n", *_commands(warmline, "warmline")]),
    }


def spec_page(file: str, schema: str, root: type[Spec]) -> str:
    """Every field of one file, with type and default."""
    intro = (
        f"# {file}\n\nEvery field an operator may set. Editors check it with `{schema}` (first line of the files).\n"
    )
    return "".join([MADE, intro, *_sections(root, "", set())])


def _sections(model: type[Spec], path: str, seen: set[type]) -> Iterator[str]:
    seen.add(model)
    text = inspect.cleandoc(model.__doc__ or "")
    yield f"\n## `{path or '(top)'}`\n\n{text}\n\n| field | type | default | |\n| --- | --- | --- | --- |\n"
    inner: list[tuple[type[Spec], str]] = []
    for name, field in model.model_fields.items():
        yield f"| `{name}` | {_type(field.annotation, field)} | {_default(field)} | {field.description or ''} |\n"
        for part, suffix in _specs(field.annotation):
            if part not in seen:
                inner.append((part, f"{path}.{name}{suffix}".removeprefix(".")))
    for part, place in inner:
        yield from _sections(part, place, seen)


def _specs(annotation: Any) -> Iterator[tuple[type[Spec], str]]:
    if inspect.isclass(annotation) and issubclass(annotation, Spec):
        yield annotation, ""
        return
    suffix = {dict: ".<name>", list: "[]"}.get(get_origin(annotation), "")
    for part in get_args(annotation):
        for spec, below in _specs(part):
            yield spec, suffix + below


def _type(annotation: Any, field: FieldInfo | None = None) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " or ".join(f"`{part}`" for part in parts)
    if origin in (Union, UnionType):
        return " or ".join(_type(part) for part in parts if part is not type(None))
    if origin is dict:
        return f"map of {_type(parts[1])}"
    if origin is list:
        return f"list of {_type(parts[0])}"
    if parts:  # Annotated
        return _type(parts[0])
    names = {"str": "text", "int": "integer", "Decimal": "number", "bool": "true or false"}
    name = getattr(annotation, "__name__", str(annotation))
    bounds = ", ".join(_bounds(field)) if field else ""
    return names.get(name, name) + (f", {bounds}" if bounds else "")


def _bounds(field: FieldInfo) -> Iterator[str]:
    signs = {"gt": "> {}", "ge": ">= {}", "lt": "< {}", "le": "<= {}"}
    for item in field.metadata:
        for attribute, sign in signs.items():
            value = getattr(item, attribute, None)
            if value is not None:
                yield sign.format(value)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, Spec):
        value = value.model_dump(mode="json", exclude_none=True)
    return "none" if value is None else f"`{str(value).lower() if isinstance(value, bool) else value}`"


def _commands(command: click.Command, name: str, parent: click.Context | None = None) -> Iterator[str]:
    context = click.Context(
        command, parent, name, terminal_width=100, max_content_width=100, **command.context_settings
    )
    yield f"\n## {context.command_path}\n\n```\n{command.get_help(context)}\n```\n"
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            inner = command.get_command(context, child)
            if inner is not None and not inner.hidden:
                yield from _commands(inner, child, context)


def main() -> None:
    """Write every page."""
    REFERENCE.mkdir(exist_ok=True)
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, encoding="utf-8")
        sys.stdout.write(f"docs/reference/{name}\n")
    for what, name in FILES.items():
        (REFERENCE.parent.parent / name).write_text(
            CliRunner().invoke(warmline, ["schema", what]).stdout, encoding="utf-8"
        )
        sys.stdout.write(f"{name}\n")


if __name__ == "__main__":
    main()
