"""What is written about the tool is what the tool does."""

from __future__ import annotations

import re

import click
import pytest
from click.testing import CliRunner

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


GROUPS = sorted(path for path, command in commands(warmline, "warmline").items() if isinstance(command, click.Group))


@pytest.mark.parametrize("path", GROUPS)
def test_the_list_of_commands_is_read_whole_on_80_columns(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    group = commands(warmline, "warmline")[path]
    assert isinstance(group, click.Group)
    text = CliRunner().invoke(warmline, [*path.split()[1:], "--help"]).stdout
    lines = text.partition("\nCommands:\n")[2].partition("\n\n")[0].splitlines()
    assert [line.split()[0] for line in lines] == group.list_commands(click.Context(group)), "one line for each"
    for line in lines:
        assert len(line) <= 80
        assert line.endswith("."), "cut, or no sentence"
        assert not line.endswith("..."), line


def test_every_command_the_documents_show_exists_with_its_options() -> None:
    known = commands(warmline, "warmline")
    for page in [ROOT / "README.md", *sorted((ROOT / "docs" / "how-to").glob("*.md"))]:
        for line in re.findall(r"(warmline [a-z][^`\n#)\"|>]*)", page.read_text(encoding="utf-8")):
            words = line.split()
            path = next((" ".join(words[:size]) for size in (4, 3, 2) if " ".join(words[:size]) in known), None)
            assert path, f"{page.name}: {line}"
            options = {text for parameter in known[path].params for text in parameter.opts}
            given = {word for word in words if re.fullmatch(r"--?[a-z][a-z-]*", word)}
            assert given <= options | {"-h", "--help"}, f"{page.name}: {line}"
