"""`warmline schema`: JSON schemas of the files an operator writes, for editors; made from the spec."""

from __future__ import annotations

import json
from typing import Any

import click
from pydantic.json_schema import GenerateJsonSchema

from cli.options import examples
from evidence.record import ServingRecord
from stacks.events import CalendarSpec
from stacks.field_types import Spec
from stacks.prices import Prices
from stacks.spec import Platform
from stacks.workloads import WorkloadsSpec

FILES = {
    "platform": "warmline.schema.json",
    "events": "warmline-events.schema.json",
    "workloads": "warmline-workloads.schema.json",
    "prices": "warmline-prices.schema.json",
    "serving": "warmline-serving.schema.json",
}
"""What is printed -> the committed file in the repository's root; a test keeps them equal."""

_MODELS: dict[str, type[Spec]] = {
    "platform": Platform,
    "events": CalendarSpec,
    "workloads": WorkloadsSpec,
    "prices": Prices,
    "serving": ServingRecord,
}


@click.command(
    epilog=examples(
        "warmline schema platform > warmline.schema.json", "warmline schema events > warmline-events.schema.json"
    )
)
@click.argument("which", type=click.Choice(tuple(FILES)))
def schema(which: str) -> None:
    """Print the JSON schema of one of the files in a stack's folder."""
    click.echo(schema_text(which), nl=False)


class _Titleless(GenerateJsonSchema):
    """Without `title: Rps` beside each `rps`."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def schema_text(which: str) -> str:
    """The schema as committed. It knows each field by itself; rules between fields are the loader's."""
    made = _MODELS[which].model_json_schema(schema_generator=_Titleless)
    document = {"$schema": "https://json-schema.org/draft/2020-12/schema", **_standard(made)}
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


# What pydantic writes for bounds of a Decimal that is made by a validator, and the words of the standard.
_BOUNDS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}


def _standard(value: Any) -> Any:
    """The schema in standard words: bounds, decimal defaults as numbers, and no names beside the allowed ones."""
    if isinstance(value, list):
        return [_standard(item) for item in value]
    if not isinstance(value, dict):
        return value
    numeric = value.get("type") == "number"
    read = {_BOUNDS.get(key, key) if numeric else key: _standard(item) for key, item in value.items()}
    if numeric and isinstance(read.get("default"), str):
        number = float(read["default"])
        read["default"] = int(number) if number.is_integer() else number
    if "patternProperties" in read:
        read.setdefault("additionalProperties", False)
    return read
