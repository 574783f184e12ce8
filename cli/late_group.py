"""A group of commands that are imported when they are called: cron runs one of them every few minutes."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click


class LateGroup(click.Group):
    """A group that knows its commands' names and help without importing them.

    `late` is command -> (module, attribute, one line of help), in the order of the help.
    """

    def __init__(self, *args: Any, late: Mapping[str, tuple[str, str, str]], **others: Any) -> None:
        super().__init__(*args, **others)
        self.late = late

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.late)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.late:
            return None
        module, attribute, _ = self.late[cmd_name]
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, _, text) in self.late.items()])
