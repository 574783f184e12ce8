"""`--at`: another time than now, as a person types it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from whenever import Instant

    from stacks.loader import Stack

at_option = click.option(
    "--at", metavar="TIME", help="Another time than now: RFC 3339, or 'YYYY-MM-DD HH:MM' in the calendar's zone."
)


def moment(at: str | None, stack: Stack, option: str = "--at") -> Instant:
    """What `--at`, or another `option`, says; now where it is not given.

    Raises:
        click.BadParameter: it is no time, or none of the calendar's zone.
    """
    from prescale import clock

    if at is None:
        return clock.now()
    try:
        return clock.moment(at, stack.calendar.timezone)
    except ValueError as error:
        hint = f"{error}. Write 2027-10-29T14:30:00Z, or '2027-10-29 20:00' in {stack.calendar.timezone}."
        raise click.BadParameter(hint, param_hint=option) from None
