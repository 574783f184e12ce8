"""Plans as text: tables for a terminal, Markdown for a pull request, plain data for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from capacity.sizing.allowed import open_questions, remarks
from capacity.sizing.plan import End, Plan
from cli.output import number, table, wrapped
from cli.size.bill import request_data, shared_data
from cli.size.chapters import chapters
from cli.size.memory import memory_data
from cli.size.purchase import at_least_data, purchase_data
from cli.size.report import Report
from cli.size.section import Section
from cli.size.settings import settings_data
from cli.size.validation import validation_data


def echo(report: Report) -> None:
    """Print the answers, then how each is come to; what needs a person comes last and starts with `!`."""
    found = tuple(chapters(report))
    for chapter in found:
        for line in chapter.headlines:
            click.secho(wrapped(f"{chapter.title}: {line}"), bold=True)
    for chapter in found:
        click.secho(f"\n{chapter.title}", bold=True, underline=True)
        for section in chapter.sections:
            _echo(section)
    click.echo(f"\n{report.diff}" if report.diff else "\nplatform.yaml has them all.")
    for text in report.notes:
        click.echo(wrapped(f"Note: {text}"))
    for text in report.findings:
        click.echo(wrapped(f"! {text}"))


def _echo(section: Section) -> None:
    click.echo(f"\n{section.title}")
    if section.rows:
        table(section.columns, section.rows)
    for line in section.lines:
        click.echo(wrapped(line, "  "))


def markdown(report: Report) -> str:
    """The same for a pull request."""
    return "\n".join([f"# Sizing of stack {report.stack}\n", *_markdown(report)]) + "\n"


def _markdown(report: Report) -> Iterator[str]:
    if report.findings:
        yield "\n".join(f"- **{_cell(text)}**" for text in report.findings) + "\n"
    for chapter in chapters(report):
        yield f"## {chapter.title}\n"
        if chapter.headlines:
            yield "  \n".join(map(_cell, chapter.headlines)) + "\n"
        for section in chapter.sections:
            yield from _section(section)
    if report.notes:
        yield "\n".join(f"- {_cell(text)}" for text in report.notes) + "\n"
    if report.diff:
        yield f"```diff\n{report.diff}```\n"


def _section(section: Section) -> Iterator[str]:
    yield f"### {section.title}\n"
    if section.rows:
        yield _row(section.columns)
        yield _row(["---"] * len(section.columns))
        yield from map(_row, section.rows)
        yield ""
    if section.lines:
        yield "\n".join(f"- {_cell(line)}" for line in section.lines) + "\n"


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(_cell(cell) for cell in cells)} |"


def _cell(text: str) -> str:
    """`text` as nothing but text: names come from files that anybody may propose a change to."""
    for mark in "\\`*_[]<>|#":
        text = text.replace(mark, f"\\{mark}")
    return " ".join(text.split())


def data(report: Report) -> dict[str, Any]:
    """Plain data: numbers as numbers, both ends of each."""
    return {
        "stack": report.stack,
        "workloads": [
            _plan_data(plan)
            | request_data(plan.name, report.bill)
            | {"validation": validation_data(report.validations[plan.name])}
            for plan in report.plans
        ],
        "pools": [
            purchase_data(most) | {"at_least": at_least_data(least)}
            for most, least in zip(report.bill.pools, report.bill.at_least, strict=True)
        ],
        "shared": [shared_data(one) for one in report.bill.shared],
        "settings": settings_data(report.settings),
        "findings": list(report.findings),
        "notes": list(report.notes),
        "diff": report.diff,
    }


def _plan_data(plan: Plan) -> dict[str, Any]:
    return {
        "name": plan.name,
        "service": plan.workload.service,
        "evidence_kind": plan.kind,
        "preliminary": plan.is_preliminary,
        "gpus_per_replica": plan.service.gpus_per_replica,
        "ceiling": plan.service.replicas.max,
        "one_replica": {
            kind: {
                "kind": one.kind,
                "evidence": one.evidence,
                "why": one.why,
                "refuted": one.is_refuted,
                "lengths": {name: number(mean) for name, mean in one.lengths.items()},
                **{name: number(value) for name, value in one.load.items()},
            }
            for kind, one in plan.carries.items()
        },
        "fewest": _end_data(plan.fewest),
        "most": _end_data(plan.most),
        "memory": [memory_data(one) for one in plan.memory],
        "assumptions": [
            {"field": one.field, "fewest": number(one.fewest), "most": number(one.most), "why": one.why}
            for one in plan.assumptions
        ],
        "remarks": list(remarks(plan)),
        "open_questions": {place: list(fields) for place, fields in open_questions(plan)},
    }


def _end_data(end: End) -> dict[str, Any]:
    reserve = end.reserve
    return {
        "classes": {
            kind: {name: number(value) for name, value in one.load.items()} for kind, one in end.offered.items()
        },
        "replicas_of_load": {name: number(value) for name, value in end.needs.items()},
        "binds": end.binds,
        "base": reserve.base,
        "reserve": [
            {"set": part.name, "replicas": part.replicas, "covered": part.covered, "why": part.why}
            for part in reserve.parts[1:]
        ],
        "replicas": reserve.running,
        "rollout_surge": reserve.surge,
    }
