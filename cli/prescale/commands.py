"""`warmline prescale`: the group of its commands."""

from __future__ import annotations

import click

from cli.options import examples
from cli.prescale.adopt import adopt
from cli.prescale.orders import cancel, hold, now, release
from cli.prescale.plan import plan
from cli.prescale.preflight import preflight
from cli.prescale.schedule import schedule
from cli.prescale.status import status
from cli.prescale.sync import sync
from cli.prescale.watch import watch


@click.group(
    epilog=examples(
        "warmline prescale plan -s prod",
        "*/2 * * * * warmline prescale sync -s prod",
        "warmline prescale status -s prod --at '2027-10-29 20:00'",
    )
)
def prescale() -> None:
    """Raise capacity ahead of known events, and let go after.

    `sync` is run every few minutes by cron; it reckons the floor anew each time, so a missed or killed run, or two at
    once, do no harm.
    """


for _command in (plan, sync, status, watch, preflight, now, hold, cancel, release, adopt, schedule):
    prescale.add_command(_command)
