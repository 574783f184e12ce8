"""The committed schemas are the spec's, and the shipped stacks obey them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from cli.main import warmline
from cli.schema import FILES
from stacks.yaml_text import parse
from tests.cli.stack_folder import REPOSITORY


def _committed(which: str) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((REPOSITORY / FILES[which]).read_text(encoding="utf-8"))
    return schema


@pytest.mark.parametrize("which", FILES)
def test_the_committed_file_is_what_is_printed(which: str) -> None:
    result = CliRunner().invoke(warmline, ["schema", which])
    assert result.exit_code == 0
    assert result.stdout == (REPOSITORY / FILES[which]).read_text(encoding="utf-8"), (
        f"Run: warmline schema {which} > {FILES[which]}"
    )


@pytest.mark.parametrize("which", FILES)
def test_it_is_a_schema_and_shipped_files_obey_it(which: str) -> None:
    schema = _committed(which)
    Draft202012Validator.check_schema(schema)
    paths = sorted((REPOSITORY / "stacks").rglob(f"{which}.yaml"))
    assert paths
    for path in paths:
        data = parse(path.read_text(encoding="utf-8"), str(path)).data
        assert [error.message for error in Draft202012Validator(schema).iter_errors(_plain(data))] == []


@pytest.mark.parametrize(
    ("which", "fragment"),
    [
        ("platform", {"namespce": "x"}),
        ("platform", {"services": {"Not A Name": {}}}),
        ("platform", {"production": "yes"}),
        ("events", {"headroom_pct": -1}),
        ("events", {"events": [{"name": "a", "start": "tomorrow"}]}),
    ],
)
def test_an_editor_sees_what_the_loader_refuses(which: str, fragment: dict[str, Any]) -> None:
    path: Path = REPOSITORY / "stacks" / "local" / f"{which}.yaml"
    data = _plain(parse(path.read_text(encoding="utf-8"), str(path)).data) | fragment
    assert list(Draft202012Validator(_committed(which)).iter_errors(data))


def test_an_unknown_name_is_bad_input() -> None:
    result = CliRunner().invoke(warmline, ["schema", "nothing"])
    assert result.exit_code == 2
    assert "'platform', 'events'" in result.stderr


def _plain(data: Any) -> Any:
    """Without exact decimals, which a JSON schema does not know."""
    return json.loads(json.dumps(data, default=float))
