"""`warmline prescale`: the group of its commands."""

from __future__ import annotations

import click

from cli.late_group import LateGroup
from cli.options import examples

COMMANDS = {
    "plan": ("cli.prescale.plan", "plan", "Print the timetable of all events, with its arithmetic."),
    "sync": ("cli.prescale.sync", "sync", "Make the floor true: raise for events, let go after."),
    "status": ("cli.prescale.status", "status", "Say whether it is warm, what is missing, and by when."),
    "watch": ("cli.prescale.watch", "watch", "Look on while it gets warm."),
    "preflight": ("cli.prescale.preflight", "preflight", "Find what would keep an event's floor from getting warm."),
    "now": ("cli.prescale.orders", "now", "Raise a service at once, for an event nobody planned."),
    "hold": ("cli.prescale.orders", "hold", "Let nothing go of a service for a while."),
    "cancel": ("cli.prescale.orders", "cancel", "Call off an event or an order: its floor is let go."),
    "release": ("cli.prescale.orders", "release", "End all orders of a service; --all: leave no trace."),
    "adopt": ("cli.prescale.adopt", "adopt", "Take a ScaledObject or HPA that others made."),
    "schedule": ("cli.prescale.schedule", "schedule", "What runs `sync` again and again, for you to install."),
}


@click.group(
    cls=LateGroup,
    late=COMMANDS,
    epilog=examples(
        "warmline prescale plan -s prod",
        "*/2 * * * * warmline prescale sync -s prod",
        "warmline prescale status -s prod --at '2027-10-29 20:00'",
    ),
)
def prescale() -> None:
    """Raise capacity ahead of known events, and let go after.

    `sync` is run every few minutes by cron; it reckons the floor anew each time, so a missed or killed run, or two at
    once, do no harm.
    """
