"""One run of `warmline size plan`: a stack's requests, its models' files and its evidence, to all that is printed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import click

from capacity.models.candidate import Memory, memory
from capacity.models.config_values import ConfigError
from capacity.purchase.bill import Bill, Terms, bill
from capacity.request import Request, made_to
from capacity.sizing.allowed import findings
from capacity.sizing.lengths import misfits as other_lengths
from capacity.sizing.plan import Plan, misfits, plan
from capacity.sizing.settings import Setting
from capacity.sizing.validation import Validation, validation
from capacity.sweeps.operating import Reading
from cli.size.evidence import measured
from cli.size.settings import NotWritten, baselines, derived, diff, patched, with_platform, write
from stacks.faults import Fault, InputError, Misfit
from stacks.requests import Requests

NOTHING = "Nothing to change: platform.yaml has all of it."


@dataclass(frozen=True)
class Report:
    """All that is printed.

    settings: by service. diff: from platform.yaml to what they would make of it. readings: of the evidence, each once.
    validations: by request, what to try before its plan is believed. bill: what all of it takes to buy.
    """

    stack: str
    plans: tuple[Plan, ...]
    settings: Mapping[str, tuple[Setting, ...]]
    findings: tuple[str, ...]
    notes: tuple[str, ...]
    diff: str
    readings: tuple[Reading, ...]
    validations: Mapping[str, Validation]
    bill: Bill


def reckoned(requests: Requests, names: tuple[str, ...] = (), terms: Terms | None = None) -> Report:
    """Plan the requests of these names, or all, and price them by `terms`; without, no price is known.

    Raises:
        click.BadParameter: a name that is no request's.
        InputError: a request that nothing can fulfil, a config.json that is none, evidence of something else.
    """
    unknown = [name for name in names if name not in requests.workloads]
    if unknown:
        known = ", ".join(requests.workloads)
        raise click.BadParameter(f"{unknown[0]} is none of the requests: {known}.", param_hint="--workload")
    platform = requests.platform
    sized = [
        made_to(platform, name, workload) for name, workload in requests.workloads.items() if not names or name in names
    ]
    faults = [fault for request in sized for fault in _faults(requests, misfits(request))]
    memories = [_memory(requests, request, faults) for request in sized]
    evidence = [measured(request, _beside(requests, request), requests.folder) for request in sized]
    faults += [fault for one in evidence for fault in one.faults]
    if faults:
        raise InputError(faults)
    plans = tuple(plan(*each) for each in zip(sized, memories, (one.carries for one in evidence), strict=True))
    for request, one in zip(sized, plans, strict=True):
        faults += _faults(requests, other_lengths(request, one.apart, one.carries))
    if faults:
        raise InputError(faults)
    found = derived(requests, plans)
    try:
        change = diff(requests, patched(requests, found))
    except NotWritten as error:
        change = f"{error}\n"
    told = [text for one in evidence for text in one.findings]
    notes = tuple(dict.fromkeys(text for one in evidence for text in one.remarks))
    readings = {reading.sweep.name: reading for one in evidence for reading in one.readings}
    costs = bill(plans, platform, terms or Terms(), baselines(found))
    everything = (*findings(plans, _in_part(requests, plans)), *costs.findings, *told)
    tries = {
        one.name: validation(one, request.pool, its.readings)
        for one, request, its in zip(plans, sized, evidence, strict=True)
    }
    return Report(requests.stack, plans, found, everything, notes, change, tuple(readings.values()), tries, costs)


def _faults(requests: Requests, wrong: Iterable[Misfit]) -> list[Fault]:
    return [requests.fault(one.path, one.got, one.expected, one.fix) for one in wrong]


def _in_part(requests: Requests, plans: tuple[Plan, ...]) -> set[str]:
    """Services of which not all requests are planned."""
    planned = {one.name for one in plans}
    return {workload.service for name, workload in requests.workloads.items() if name not in planned}


def _beside(requests: Requests, request: Request) -> list[Request]:
    """The other requests to its service, planned or not."""
    others = (made_to(requests.platform, *pair) for pair in requests.workloads.items() if pair[0] != request.name)
    return [other for other in others if other.workload.service == request.workload.service]


def _memory(requests: Requests, request: Request, faults: list[Fault]) -> tuple[Memory, ...]:
    """Of the candidates whose size is known; what is wrong with a config.json goes to `faults`."""
    found = []
    for index, candidate in enumerate(request.workload.models.candidates or ()):
        files = requests.models[request.name, index]
        try:
            one = memory(candidate, files, request)
        except ConfigError as error:
            faults.append(Fault(files.config_file, 0, error.key, error.got, error.expected, error.fix))
        else:
            found += [one] if one else []
    return tuple(found)


def written(requests: Requests, names: tuple[str, ...], terms: Terms) -> Report:
    """Put the derived settings into platform.yaml, and reckon again from what it says then.

    Nothing is written if the plan is preliminary, or would not be sound afterwards: that is a finding.
    """
    report = reckoned(requests, names, terms)
    try:
        text, settled = _settled(requests, names, terms, report)
        changes = diff(requests, text)
        click.echo(f"Wrote {write(requests, text)}." if changes else NOTHING, err=True)
    except NotWritten as error:
        return replace(report, findings=(*report.findings, f"platform.yaml is not written: {error}"))
    return settled


def _settled(requests: Requests, names: tuple[str, ...], terms: Terms, report: Report) -> tuple[str, Report]:
    """The text to write, and the report as it is with it."""
    if any(one.is_preliminary for one in report.plans):
        raise NotWritten("the plan is preliminary; say what it assumes first")
    text = patched(requests, report.settings)
    try:
        settled = reckoned(with_platform(requests, text), names, terms)
    except InputError as error:
        raise NotWritten(f"it would be bad input then: {error.faults[0]}") from None
    if settled.findings:
        raise NotWritten(f"it would still be that {settled.findings[0]}")
    return text, replace(settled, diff="")
