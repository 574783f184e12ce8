"""What `warmline review` prints: Markdown for people, plain data for programs. Nothing here decides anything."""

from __future__ import annotations

from typing import Any

from cli.prescale.text import utc
from cli.review import events, settings
from cli.review.events import causes, what
from cli.review.join import Review
from infra.footprint import Footprint
from infra.review.comparison import Comparison
from infra.review.markdown import Section, document, incomplete_document
from infra.review.redaction import shown, shown_setting
from prescale.plan_change import PlanChange, Planned


def markdown(review: Review) -> str:
    """The review as one bounded comment."""
    title = f"Stack {review.stack}: working tree against {review.ref}"
    if review.objects is None:
        return incomplete_document(title, list(review.missing))
    beside = settings.section(review.settings)
    if review.events is None:
        return document(title, review.objects, Section("events", missing=review.missing), beside)
    return document(title, review.objects, events.section(review.events, review.now), beside)


def data(review: Review) -> dict[str, Any]:
    """All of it, nothing left out for length; values of fields are masked as in the Markdown.

    `objects`, `services`, `settings` and `events` are null where they could not be compared.
    """
    return {
        "stack": review.stack,
        "against": review.ref,
        "at": utc(review.now),
        "safe": review.is_safe,
        "findings": list(review.findings),
        "missing": [vars(side) for side in review.missing],
        "objects": None if review.objects is None else _objects(review.objects),
        "services": None if review.objects is None else _services(review.objects),
        "settings": None if review.objects is None else _settings(review),
        "events": None if review.events is None else _events(review.events, review),
    }


def _objects(comparison: Comparison) -> dict[str, Any]:
    return {
        "added": list(comparison.added),
        "removed": list(comparison.removed),
        "renamed": [{"object": name, "now": to} for name, to in comparison.renamed],
        "changed": [
            {
                "object": item.object,
                "fields": [
                    {"path": change.path, "what": item.effect(change), **_pair(*shown(change))}
                    for change in item.fields
                ],
            }
            for item in comparison.changed
        ],
    }


def _services(comparison: Comparison) -> list[dict[str, Any]]:
    return [
        {"service": name, **_pair(_size(was), _size(becomes))} for name, (was, becomes) in comparison.footprints.items()
    ]


def _settings(review: Review) -> list[dict[str, Any]]:
    return [{"path": change.path, **_pair(*shown_setting(change))} for change in review.settings]


def _size(size: Footprint | None) -> dict[str, int] | None:
    if size is None:
        return None
    return {
        "baseline": size.baseline,
        "ceiling": size.ceiling,
        "gpus_at_baseline": size.gpus_at_baseline,
        "gpus_at_ceiling": size.gpus_at_ceiling,
    }


def _events(change: PlanChange, review: Review) -> list[dict[str, Any]]:
    return [
        {
            "event": item.sides[-1].event,
            "service": item.sides[-1].service,
            "what": what(item, review.now),
            **_pair(_planned(item.before), _planned(item.after)),
            "because": [vars(cause) for cause in causes(item)],
            "by_code": item.by_code,
        }
        for item in change.events
    ]


def _planned(side: Planned | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {
        "cancelled": side.is_cancelled,
        "floor": side.floor,
        "gpus_at_floor": side.gpus_at_floor,
        "raise_at": utc(side.raise_at),
        "start": utc(side.start),
        "end": utc(side.end),
        "timezone": side.zone,
    }


def _pair(before: Any, after: Any) -> dict[str, Any]:
    return {"before": before, "after": after}
