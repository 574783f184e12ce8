"""What a person types, read by a function of the rooms behind the commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


class Typed(click.ParamType[Any]):
    """What `read` makes of a text; the words of its ValueError where it cannot."""

    def __init__(self, name: str, read: Callable[[str], Any]) -> None:
        self.name = name
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._read(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)
