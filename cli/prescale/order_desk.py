"""What the commands that give orders have in common: stack and cluster, the words of the person, and the answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from difflib import get_close_matches

import click

from cli.output import emit
from cli.prescale import lead_time_text, orders_text, shortage_text, sync_text
from cli.prescale.at import moment
from cli.prescale.text import both
from prescale import clock
from prescale.api.cluster import Cluster
from prescale.briefs.making import served
from prescale.lead_time import keeping
from prescale.orders.giving import Answer, Author, Ends
from prescale.orders.term import LONGEST_S, author
from prescale.orders.uninstall import Uninstall
from prescale.sync import Run
from prescale.windows.shortage import Shortage, shortages
from prescale.windows.timetable import timetable
from stacks.loader import load_stack


class Desk:
    """One stack on its cluster."""

    def __init__(self, stack: str, *, dry_run: bool) -> None:
        self.stack = load_stack(stack)
        self.now = clock.now()
        self.cluster = Cluster.of(self.stack.platform.cluster.context, self.stack.platform.namespace)
        services, adopted = tuple(self.stack.platform.services), self.stack.platform.adopted
        table = timetable(self.stack, self.now)
        self.run = Run(stack, table, services, self.cluster, clock.now, dry_run=dry_run, by_hand=True, adopted=adopted)

    def uninstall_run(self) -> Uninstall:
        """The run that takes everything to its baseline."""
        run = self.run
        here = run.stack, run.table, run.services, run.objects, run.read_clock
        return Uninstall(*here, dry_run=run.dry_run, adopted=run.adopted)

    def check(self, service: str) -> None:
        """Refuse a service that the stack does not have."""
        if service not in self.run.services:
            near = get_close_matches(service, self.run.services) or self.run.services
            hint = f"stack {self.run.stack} has no service {service}. Near it: {', '.join(near)}."
            raise click.BadParameter(hint, param_hint="SERVICE")

    def author(self, reason: str) -> Author:
        """Who is at work, and why."""
        return Author(author(self.cluster.config.context.user), reason)

    def ends(self, lasts_s: int | None, until: str | None) -> Ends:
        """When an order is over that is said for so long, or until then."""
        if (lasts_s is None) == (until is None):
            raise click.UsageError("Say how long: --for 2h, or --until TIME.")
        if lasts_s is not None:
            return lambda at: at.add(seconds=lasts_s)
        end = moment(until, self.stack, "--until")
        if not self.now < end <= self.now.add(seconds=LONGEST_S):
            hint = f"{until} is not within the next {LONGEST_S // 86400} days."
            raise click.BadParameter(hint, param_hint="--until")
        return lambda _: end

    def told(self, answer: Answer, output: str, *, raises: bool = False) -> bool:
        """Print what became of it; of one that raises, what it needs too. Whether a person is needed."""
        run, zone = self.run, self.stack.calendar.timezone
        short = self._shortages(answer) if raises else ()
        answer = replace(answer, notes=(*answer.notes, *self._ready_by(answer))) if raises else answer
        if output == "table":
            click.echo("\n".join(self._lines(answer, short, zone)))
        else:
            data = sync_text.data(run.stack, self.now, answer.outcomes, dry_run=run.dry_run)
            notes = {"notes": list(answer.notes), "findings": list(answer.findings)}
            said = {"orders": orders_text.data(answer.orders), **notes}
            emit({**data, **said, **(shortage_text.data(self.stack, short) if raises else {})}, output)
        return bool(answer.findings or short or any(outcome.findings for outcome in answer.outcomes))

    def _lines(self, answer: Answer, short: tuple[Shortage, ...], zone: str) -> list[str]:
        outcomes = sync_text.lines(answer.outcomes, self.run.table, self.now, zone, dry_run=self.run.dry_run)
        findings = [f"! {finding}" for finding in answer.findings]
        return [*findings, *outcomes, *answer.notes, *shortage_text.lines(short, zone)]

    def _shortages(self, answer: Answer) -> tuple[Shortage, ...]:
        """Those that an order has a part in: the others are `plan`'s to tell."""
        if not answer.orders:
            return ()
        orders = replace(self.run, proposed=answer.orders if self.run.dry_run else ()).orders()
        found = shortages(self.stack, self.run.table, self.now, orders)
        ours = {order.event for order in answer.orders}
        return tuple(one for one in found if ours & set(one.events))

    def _ready_by(self, answer: Answer) -> Iterator[str]:
        """By what starts take here, as `sync` and `status` reckon."""
        raised = [one for one in answer.outcomes if one.patch and (one.target or 0) > (one.was or 0)]
        if not raised:
            return
        remembered = keeping.read(self.cluster, self.stack.name)
        yield from remembered.notes
        leads = keeping.lead_times(served(self.stack.platform), remembered.history, self.now)
        for outcome in raised:
            lead = leads[outcome.service]
            ready_by = self.now.add(seconds=lead.total_s)
            takes = f"the {lead.total_s} s of a cold start at p95 by {lead_time_text.basis(lead)}"
            said = (
                f"what has to be started is Ready by {both(ready_by, self.stack.calendar.timezone)} if it takes {takes}"
            )
            is_over = all(order.until <= ready_by for order in answer.orders)
            yield f"{said}; the order is over before that" if is_over else said
