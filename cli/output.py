"""How results are printed: tables for people, JSON or YAML for programs."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any, overload

import click


def emit(data: Any, output: str) -> None:
    """Print plain data as `json` or `yaml`."""
    if output == "json":
        click.echo(json.dumps(data, indent=2))
        return
    import yaml

    click.echo(yaml.safe_dump(data, sort_keys=False, allow_unicode=True), nl=False)


@overload
def number(value: int | Fraction | Decimal) -> int | float: ...
@overload
def number(value: int | Fraction | Decimal | None) -> int | float | None: ...
def number(value: int | Fraction | Decimal | None) -> int | float | None:
    """An exact number as programs read it; None where it is not known."""
    if value is None:
        return None
    exact = Fraction(value)
    return exact.numerator if exact.denominator == 1 else float(exact)


def table(columns: Sequence[str], rows: Sequence[Sequence[str]], *, title: str | None = None) -> None:
    """Print rows as a table; colour only on a terminal."""
    from rich.console import Console
    from rich.table import Table

    drawn = Table(title=title, title_justify="left", box=None, pad_edge=False, header_style="bold")
    for column in columns:
        drawn.add_column(column, overflow="fold")  # half a time or half a path is none
    for row in rows:
        drawn.add_row(*row)
    console = Console(soft_wrap=True)
    console.width = terminal_columns()
    console.print(drawn)


def wrapped(text: str, indent: str = "") -> str:
    """`text` broken between words at a terminal's width, further lines set in; a pipe has no width."""
    if not sys.stdout.isatty():
        return f"{indent}{text}"
    return textwrap.fill(
        text,
        shutil.get_terminal_size().columns,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,  # half an address is none
        break_on_hyphens=False,
    )


def terminal_columns() -> int:
    """Of the terminal that results go to; a pipe has none, and nothing is cut for it."""
    from rich.console import Console

    console = Console()
    return console.width if console.is_terminal else 400


@contextmanager
def busy(what: str) -> Iterator[None]:
    """Say on a terminal, beside the results, what is being waited for."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield
