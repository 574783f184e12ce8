"""What is written about the tool is what the tool does."""

from __future__ import annotations

import re

import click
import pytest

from cli.main import warmline
from docs.generate import REFERENCE, pages

ROOT = REFERENCE.parent.parent


@pytest.mark.parametrize("name", sorted(pages()))
def test_reference_pages_are_as_new_as_the_code(name: str) -> None:
    assert (REFERENCE / name).read_text(encoding="utf-8") == pages()[name], "run `make docs`"


def commands(command: click.Command, path: str) -> dict[str, click.Command]:
    found = {path: command}
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            found |= commands(inner, f"{path} {name}")
    return found


@pytest.mark.parametrize("path", sorted(commands(warmline, "warmline")))
def test_every_command_has_help_and_an_example(path: str) -> None:
    command = commands(warmline, "warmline")[path]
    assert command.help
    assert "Example:" in (command.epilog or ""), f"{path} has no example"


def test_every_command_the_documents_show_exists_with_its_options() -> None:
    known = commands(warmline, "warmline")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]:
        for line in re.findall(r"(warmline [a-z][^`\n#)\"|>]*)", page.read_text(encoding="utf-8")):
            words = line.split()
            path = next((" ".join(words[:size]) for size in (3, 2) if " ".join(words[:size]) in known), None)
            assert path, f"{page.name}: {line}"
            options = {text for parameter in known[path].params for text in parameter.opts}
            given = {word for word in words if re.fullmatch(r"--?[a-z][a-z-]*", word)}
            assert given <= options | {"-h", "--help"}, f"{page.name}: {line}"
