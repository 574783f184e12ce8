"""How lead times are told: where each comes from, and what the measured starts took, phase by phase."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from prescale.lead_time.reckoning import FEW, LeadTime, Measured
from prescale.lead_time.start import PHASES

NOT_ASKED = (
    "Lead times are platform.yaml's: the cluster was not asked. With --measured it is; sync may raise earlier by them."
)


def data(lead_times: Mapping[str, LeadTime]) -> dict[str, Any]:
    """Service -> seconds; what is not known is null."""
    return {name: _data(lead) for name, lead in lead_times.items()}


def _data(lead: LeadTime) -> dict[str, Any]:
    measured = lead.measured
    return {
        "lead_time_s": lead.total_s,
        "basis": lead.basis,
        "phases_s": dict(lead.links),
        "platform_yaml_s": lead.spec_s,
        "measured": measured
        and {
            "starts": measured.starts,
            "p95_s": measured.p95_s,
            "longest_s": measured.longest_s,
            "sure_s": measured.sure_s,
            "phases_p95_s": dict(zip(PHASES, measured.phases_s, strict=True)),
        },
        "outages": lead.outages,
    }


def lines(lead_times: Mapping[str, LeadTime]) -> list[str]:
    """A line for each service's lead time, one for what was measured, and a warning where one is due."""
    return [line for name, lead in lead_times.items() for line in _lines(name, lead)]


def _lines(name: str, lead: LeadTime) -> Iterable[str]:
    phases = ", ".join(f"{phase} {takes_s} s" for phase, takes_s in lead.links if takes_s)
    yield f"{name}: lead time {lead.total_s} s by {basis(lead)} ({phases})"
    if lead.measured:
        yield f"  measured: {_measured(lead.measured)}"
    if warning := _warning(lead):
        yield f"  {warning}"
    if lead.outages:
        yield f"  {lead.outages} more took too long to be a start: they waited for something that was not there"


def basis(lead: LeadTime) -> str:
    """Where it comes from, in words that go behind `by`."""
    return "platform.yaml" if lead.basis == "platform.yaml" else "what the cluster did"


def _measured(measured: Measured) -> str:
    known = zip(PHASES, measured.phases_s, strict=True)
    phases = ", ".join(f"{phase} {'unknown' if takes_s is None else f'{takes_s} s'}" for phase, takes_s in known)
    whole = f"p95 {measured.p95_s} s of {_starts(measured.starts)}, the longest {measured.longest_s} s"
    return f"{whole}; p95 of each phase: {phases}"


def _warning(lead: LeadTime) -> str | None:
    measured = lead.measured
    if measured is None:
        return "warning: no start of this image, model and pool has been measured, so nothing has tried that number"
    if measured.p95_s > lead.spec_s and lead.basis == "measured":
        longer = f"{measured.p95_s - lead.spec_s} s longer than platform.yaml says"
        return f"warning: {longer}; events are raised that much earlier. Correct cold_start."
    if measured.starts < FEW:
        return f"warning: {_starts(measured.starts)} are few: the longest of them stands for the p95"
    return None


def _starts(count: int) -> str:
    return "1 start" if count == 1 else f"{count} starts"
