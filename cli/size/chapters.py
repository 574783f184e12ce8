"""A report in the order in which it is read: each request, each pool that they need, each service's settings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cli.size.bill import request_sections, shared_headlines, shared_section
from cli.size.plan_sections import headlines, sections
from cli.size.purchase import headline, purchase_sections
from cli.size.report import Report
from cli.size.section import Section
from cli.size.settings import settings_section
from cli.size.validation import validation_sections


@dataclass(frozen=True)
class Chapter:
    """What is printed of one request, pool or service: the answer first."""

    title: str
    headlines: tuple[str, ...]
    sections: tuple[Section, ...]


def chapters(report: Report) -> Iterator[Chapter]:
    """The one form that the terminal, Markdown and HTML print."""
    bill = report.bill
    for plan in report.plans:
        parts = (*sections(plan), *request_sections(plan.name, bill))
        tries = validation_sections(plan, report.validations[plan.name])
        yield Chapter(plan.name, tuple(headlines(plan)), (*parts, *tries))
    for most, least in zip(bill.pools, bill.at_least, strict=True):
        yield Chapter(f"pool {most.pool}", (headline(most, least),), tuple(purchase_sections(most)))
    shared = {one.service: one for one in bill.shared}
    for name, ours in report.settings.items():
        ours_too = shared.get(name)
        beside = [shared_section(ours_too)] if ours_too else []
        told = tuple(shared_headlines(ours_too)) if ours_too else ()
        yield Chapter(f"service {name}", told, (*beside, settings_section(name, ours)))
