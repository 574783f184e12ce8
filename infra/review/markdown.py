"""A comparison as Markdown for a pull request: totals first, bounded, and safe to paste. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from infra.footprint import Footprint
from infra.review.comparison import Changed, Comparison
from infra.review.redaction import shown

LIMIT = 65_000
"""Characters. Source: a GitHub comment holds 65,536."""

SECTION_LIMIT = 20_000
VALUE_LIMIT = 300
REASON_LIMIT = 2_000

EFFECTS = {"changed": "changed", "replaced": "replaced (predicted)", "ignored": "ignored by `pulumi up`"}


@dataclass(frozen=True)
class Incomplete:
    """One side that did not give what is compared, and why."""

    side: str
    reason: str
    failure: str = "did not render"


@dataclass(frozen=True)
class Section:
    """What is said of the same change beside the objects: `counts` in the totals, `rows` under `columns` in a table.

    Sides that are `missing` make the review incomplete; `title` names what could not be compared then.
    """

    title: str
    counts: str = ""
    findings: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    missing: tuple[Incomplete, ...] = ()


def document(title: str, comparison: Comparison, *beside: Section) -> str:
    """The whole review of one stack."""
    findings = (*comparison.findings, *(text for section in beside for text in section.findings))
    missing = [side for section in beside for side in section.missing]
    head = [f"## {escaped(title)}", "", _summary(comparison, beside, len(findings)), "", *_reasons(missing)]
    head += [*_findings(findings), *_sizes(comparison), *(line for section in beside for line in _table(section))]
    return _bounded(head, list(_objects(comparison)))


def incomplete_document(title: str, sides: list[Incomplete]) -> str:
    """A review that could not be made says so in its first line: silence would read as "no changes"."""
    return "\n".join([f"## {escaped(title)}", "", "**INCOMPLETE**: nothing was compared.", "", *_reasons(sides)])


def _reasons(sides: Iterable[Incomplete]) -> list[str]:
    lines = []
    for side in sides:
        reason = side.reason[:REASON_LIMIT]
        fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", reason)), default=0))
        lines += [f"{code(side.side)} {side.failure}:", "", f"{fence}text", reason, fence, ""]
    return lines


def _summary(comparison: Comparison, beside: Sequence[Section], findings: int) -> str:
    replaced = sum(bool(item.replaced_by) for item in comparison.changed)
    counts = {
        "added": len(comparison.added),
        "changed": len(comparison.changed) - replaced,
        "replaced (predicted)": replaced,
        "renamed": len(comparison.renamed),
        "removed": len(comparison.removed),
    }
    said = ", ".join(f"{number} {what}" for what, number in counts.items() if number) or "no object changes"
    old = [was for was, _ in comparison.footprints.values() if was]
    new = [now for _, now in comparison.footprints.values() if now]
    baseline = arrow(sum(item.gpus_at_baseline for item in old), sum(item.gpus_at_baseline for item in new))
    ceiling = arrow(sum(item.gpus_at_ceiling for item in old), sum(item.gpus_at_ceiling for item in new))
    risk = f"{findings} finding{'s' if findings > 1 else ''}" if findings else "no findings"
    parts = [f"**INCOMPLETE**: the {section.title} were not compared" for section in beside if section.missing]
    parts += [f"**{said}**", *(section.counts for section in beside if section.counts)]
    return " · ".join([*parts, f"GPUs at baseline {baseline}, at ceiling {ceiling}", risk])


def _findings(findings: tuple[str, ...]) -> list[str]:
    if not findings:
        return []
    return ["### Findings", "", *(f"- {escaped(text)}" for text in findings), ""]


def _table(section: Section) -> list[str]:
    """Its rows, as many as leave room for the objects."""
    if not section.rows:
        return []
    rows, size = [], 0
    for row in section.rows:
        size += len(row) + 1
        if size > SECTION_LIMIT:
            break
        rows.append(row)
    left = len(section.rows) - len(rows)
    more = [f"{left} more {section.title} are not shown.", ""] if left else []
    return [f"| {' | '.join(section.columns)} |", "|---" * len(section.columns) + "|", *rows, "", *more]


def _sizes(comparison: Comparison) -> list[str]:
    if not comparison.footprints:
        return []
    lines = ["| Service | Baseline | Ceiling | GPUs at baseline | GPUs at ceiling |", "|---|---|---|---|---|"]
    for name, (was, now) in comparison.footprints.items():
        cells = [
            _pair(was, now, "baseline"),
            _pair(was, now, "ceiling"),
            _pair(was, now, "gpus_at_baseline"),
            _pair(was, now, "gpus_at_ceiling"),
        ]
        lines.append(f"| {code(name)} | {' | '.join(cells)} |")
    return [*lines, ""]


def _pair(was: Footprint | None, now: Footprint | None, what: str) -> str:
    return arrow(getattr(was, what) if was else "none", getattr(now, what) if now else "none")


def arrow(before: object, after: object) -> str:
    """Both, or the one that it stays."""
    return str(after) if before == after else f"{before} → {after}"


def _objects(comparison: Comparison) -> Iterator[str]:
    rows = [f"| added | {code(name)} | | | |" for name in comparison.added]
    rows += [f"| removed | {code(name)} | | | |" for name in comparison.removed]
    rows += [f"| renamed | {code(name)} | now {code(to)} in the state | | |" for name, to in comparison.renamed]
    for item in comparison.changed:
        rows += _rows(item)
    if rows:
        yield from ("| What | Object | Field | Before | After |", "|---|---|---|---|---|", *rows)


def _rows(item: Changed) -> list[str]:
    rows = []
    for change in item.fields:
        what = EFFECTS[item.effect(change)]
        before, after = shown(change)
        rows.append(f"| {what} | {code(item.object)} | {code(change.path)} | {code(before)} | {code(after)} |")
    return rows


def _bounded(head: list[str], rows: list[str]) -> str:
    """Head and as many rows as fit, and how many did not."""
    lines, size = list(head), sum(len(line) + 1 for line in head)
    if size > LIMIT - 200:
        return _cut("\n".join(head))
    for index, row in enumerate(rows):
        size += len(row) + 1
        if size > LIMIT - 200:
            lines += ["", f"{len(rows) - index} more rows are not shown."]
            break
        lines.append(row)
    return "\n".join(lines).rstrip() + "\n"


def _cut(text: str) -> str:
    kept = text[: LIMIT - 200].rpartition("\n")[0]
    return f"{kept}\n\nThe rest is not shown: the review is longer than a comment may be.\n"


def _flat(text: str) -> str:
    """One line that reads as it is: nothing in it is invisible or turns the direction of what follows."""
    line = re.sub(r"\s+", " ", text).strip()
    return "".join("\ufffd" if unicodedata.category(char) in {"Cc", "Cf"} else char for char in line)


def code(text: str) -> str:
    """`text` as inline code in a table cell: nothing in it is Markdown, a mention or a cell's end."""
    flat = _flat(text)
    if len(flat) > VALUE_LIMIT:
        flat = f"{flat[:VALUE_LIMIT]}…"
    if not flat:
        return "(empty)"
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", flat)), default=0))
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat.replace('|', chr(92) + '|')}{pad}{fence}"


def escaped(text: str) -> str:
    """`text` as running text."""
    flat = _flat(text)
    # A zero-width space keeps `@name` and `#1` from reaching anyone.
    return re.sub(r"([\\`*_\[\]<>|~])", r"\\\1", flat).replace("@", "@\u200b").replace("#", "#\u200b")
