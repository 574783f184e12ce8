"""A pool's purchase as sections for people and plain data for programs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from fractions import Fraction
from typing import Any

from capacity.purchase.charges import Charge, by, in_cents
from capacity.purchase.money import HOURS_PER_MONTH
from capacity.purchase.placement import Placement, QuotaNeed
from capacity.purchase.pool import Bought, Purchase, Way
from capacity.replicas import decimal_text
from cli.output import number
from cli.size.section import Section, span
from stacks.prices import PRICES_FILE, TERMS
from stacks.prices_text import plain
from stacks.quotas import CONSOLE

UNKNOWN = "unknown"


def dollars(usd: Fraction | None) -> str:
    """`12,345.67`, or `unknown`."""
    return UNKNOWN if usd is None else f"{in_cents([usd])[0]:,}"


def headline(purchase: Purchase, at_least: Purchase) -> str:
    """What the pool comes to, from the fewest the plans may need to the most."""
    bought, least = purchase.bought, at_least.bought
    if bought is None or least is None:
        return "nothing it has holds the replicas"
    kind = bought.peak.kind
    nodes = span(least.peak.nodes, bought.peak.nodes)
    rollouts = span(least.with_surge.nodes, bought.with_surge.nodes)
    of_what = f"{kind.instance_type} ({kind.gpus} GPU{'s' if kind.gpus > 1 else ''} each)"
    return f"{nodes} nodes of {of_what} at the peak, {rollouts} while all roll out; {_month(bought, least)}"


def _month(bought: Bought, least: Bought) -> str:
    low, high = least.ways[0].least.usd, bought.ways[0].most.usd
    if low is None or high is None:
        return "$ a month unknown"
    month = dollars(high) if low == high else f"{dollars(low)} to ${dollars(high)}"
    return f"${month} a month on demand"


def purchase_sections(purchase: Purchase) -> Iterator[Section]:
    """Nodes, money and who pays; nothing where nothing fits, which is a finding."""
    bought = purchase.bought
    if bought is None:
        return
    rows = (
        _placement_row("baselines", bought.base),
        _placement_row("at the peak", bought.peak),
        _placement_row("and every rollout", bought.with_surge),
    )
    columns = ("", "nodes", "by zone", "GPUs", "left over", "vCPUs")
    yield Section(f"Nodes of pool {purchase.pool}", columns, rows, tuple(_node_lines(purchase, bought)))
    yield _money(purchase, bought)
    yield _who_pays(purchase.pool, bought)


def _placement_row(name: str, placement: Placement) -> tuple[str, ...]:
    zones = ", ".join(map(str, placement.nodes_by_zone)) if placement.zones > 1 else "not said"
    vcpus = UNKNOWN if placement.vcpus is None else str(placement.vcpus)
    return name, str(placement.nodes), zones, str(placement.gpus), str(placement.left_over_gpus), vcpus


def _node_lines(purchase: Purchase, bought: Bought) -> Iterator[str]:
    yield purchase.choice.why
    yield from (f"{name} is out: {why}" for name, why in purchase.choice.refused.items())
    for one in bought.peak.placed:
        zones = bought.peak.by_zone(one.service)
        left = f"{bought.peak.after_a_node(one.service)} of {one.count} remain when a node is lost"
        if len(zones) > 1:
            left = f"{', '.join(map(str, zones))} by zone; {left}"
            left += f", {bought.peak.after_a_zone(one.service)} when a zone is"
        yield f"{one.service}: {left}"
    if bought.spread:
        constraint = bought.spread.manifest()
        shown = ("maxSkew", "minDomains", "topologyKey", "whenUnsatisfiable")
        said = ", ".join(f"{key}: {constraint[key]}" for key in shown)
        yield f"which only this keeps true, of replicas of one version: {{{said}}}"
        if bought.only_wished:
            who = ", ".join(bought.only_wished)
            yield f"{who}: platform.yaml says no `zones`: so far a wish (ScheduleAnyway), kept where there is room"
        yield "while a zone is lost, DoNotSchedule adds nothing: what remains carries the peak, and replacements wait"
    yield from (_quota_line(need) for need in bought.quotas)
    yield _subnet_line(bought)


def _quota_line(need: QuotaNeed) -> str:
    vcpus = UNKNOWN if need.vcpus is None else need.vcpus
    if need.quota is None:
        return f"quota: {vcpus} vCPUs of {', '.join(need.families)}, whose quota is unknown: see Service Quotas, ec2"
    return f"quota: {vcpus} vCPUs of {need.quota.name} ({need.quota.code}); ask at {CONSOLE}{need.quota.code}"


def _subnet_line(bought: Bought) -> str:
    need = bought.subnet
    if need is None:
        return f"subnets: how many addresses {bought.peak.kind.instance_type} takes is unknown"
    large = f"a /{need.mask}" if need.mask else "more than one subnet"
    of_all = f"{need.nodes} nodes x {need.addresses_per_node} = {need.addresses} addresses"
    daemons = f"beside its replicas a node has {need.daemonset_pods} pods of daemonsets"
    daemons += ", which is assumed (--daemonset-pods says it)" if need.daemonset_pods_assumed else ""
    of_all += ", an interface kept warm on each, 5 are AWS's"
    return f"subnets: {large} for the nodes of each zone ({of_all}); {daemons}"


def _money(purchase: Purchase, bought: Bought) -> Section:
    rows = tuple(_way_row(way) for way in bought.ways)
    lines = [f"a month is {HOURS_PER_MONTH} h; from: nothing beyond the baselines runs, to: the peak's nodes always do"]
    prices = [way.price for way in bought.ways if way.price]
    lines += [f"{plain(price.usd_per_h)} is of {price.date}: {price.address}" for price in prices]
    lines += _unknown_prices(purchase.region, bought)
    columns = (
        "baselines paid",
        "$ per node-hour",
        "$ a month from",
        "to",
        "$ an hour at the peak",
        "pays from h a month",
    )
    where = f", {purchase.region}" if purchase.region else ""
    return Section(f"Money of pool {purchase.pool}{where}", columns, rows, tuple(lines))


def _unknown_prices(region: str | None, bought: Bought) -> Iterator[str]:
    """What is not known, and how it is got; no figure is taken from another region."""
    kind = bought.peak.kind.instance_type
    if region is None:
        yield f"every price is unknown: {PRICES_FILE} says no region; write `region: us-east-1`, or which it is, there"
        return
    ask = f"`warmline size prices --region {region} --refresh --write`"
    if bought.ways[0].price is None:
        yield f"the price of {kind} in {region} is unknown, and none is taken from another region: {ask} asks AWS"
    if unknown := unknown_terms(bought):
        yield f"{', '.join(unknown)}: unknown; {ask} asks AWS, what you pay instead belongs in {PRICES_FILE}"


def unknown_terms(bought: Bought) -> tuple[str, ...]:
    """Commitments whose price is not known."""
    known = {way.term for way in bought.ways if way.price}
    return tuple(term for term in TERMS if term != "on_demand" and term not in known)


def _way_row(way: Way) -> tuple[str, ...]:
    even = "" if way.term == "on_demand" else UNKNOWN
    if way.break_even_hours is not None:
        even = decimal_text(way.break_even_hours)
    return (
        way.term,
        plain(way.price.usd_per_h) if way.price else UNKNOWN,
        dollars(way.least.usd),
        dollars(way.most.usd),
        dollars(way.most.peak_usd_per_h),
        even,
    )


def _who_pays(pool: str, bought: Bought) -> Section:
    at_base, at_peak = _cents(bought.charges_at_base), _cents(bought.charges_at_peak)
    keys = dict.fromkeys([*at_base, *at_peak])
    rows = tuple((*key, at_base.get(key, "0.00"), at_peak.get(key, "0.00")) for key in keys)
    columns = ("owner", "cost centre", "service", "$ a month from", "to")
    return Section(f"Who pays for pool {pool}, on demand", columns, rows)


def _cents(charged: Iterable[Charge]) -> dict[tuple[str, str, str], str]:
    """By owner, cost centre and service, in cents that add up to the pool's."""
    sums = {_key(one): one.usd for one in charged}
    known = [usd for usd in sums.values() if usd is not None]
    if len(known) < len(sums):
        return dict.fromkeys(sums, UNKNOWN)
    return {key: f"{cents:,}" for key, cents in zip(sums, in_cents(known), strict=True)}


def _key(charge: Charge) -> tuple[str, str, str]:
    if charge.service is None:
        return "(nobody)", "", "GPUs left over"
    return charge.owner or "", charge.cost_center or "(none)", charge.service


def purchase_data(purchase: Purchase) -> dict[str, Any]:
    """The same as plain data; unknown numbers are null."""
    bought = purchase.bought
    if bought is None:
        return {"pool": purchase.pool, "instance_type": None, "why": purchase.choice.why}
    return {
        "pool": purchase.pool,
        "instance_type": bought.peak.kind.instance_type,
        "why": purchase.choice.why,
        "unpriced": list(purchase.choice.unpriced),
        "at_baselines": _placement_data(bought.base),
        "at_peak": _placement_data(bought.peak),
        "with_rollouts": _placement_data(bought.with_surge),
        "topology_spread": bought.spread and bought.spread.manifest(),
        "spread_only_wished": list(bought.only_wished),
        "quotas": [
            {"code": one.quota and one.quota.code, "name": one.quota and one.quota.name, "vcpus": one.vcpus}
            for one in bought.quotas
        ],
        "subnet": bought.subnet and asdict(bought.subnet),
        "region": purchase.region,
        "ways": [_way_data(way) for way in bought.ways],
        "unknown_terms": list(unknown_terms(bought)),
        "by_owner": _by_data(bought.charges_at_peak, "owner"),
        "by_cost_center": _by_data(bought.charges_at_peak, "cost_center"),
    }


def at_least_data(purchase: Purchase) -> dict[str, Any] | None:
    """The other end, where the plans are ranges: what is needed and paid at least."""
    bought = purchase.bought
    if bought is None:
        return None
    return {"nodes_at_peak": bought.peak.nodes, "usd_per_month_most": number(bought.ways[0].most.usd)}


def _placement_data(placement: Placement) -> dict[str, Any]:
    return {
        "nodes": placement.nodes,
        "nodes_by_zone": list(placement.nodes_by_zone),
        "gpus": placement.gpus,
        "left_over_gpus": placement.left_over_gpus,
        "vcpus": placement.vcpus,
        "replicas_by_zone": {one.service: list(placement.by_zone(one.service)) for one in placement.placed},
    }


def _way_data(way: Way) -> dict[str, Any]:
    return {
        "term": way.term,
        "usd_per_node_h": number(Fraction(way.price.usd_per_h) if way.price else None),
        "date": way.price and way.price.date,
        "source": way.price and way.price.address,
        "usd_per_month_least": number(way.least.usd),
        "usd_per_month_most": number(way.most.usd),
        "usd_per_h_at_peak": number(way.most.peak_usd_per_h),
        "break_even_hours": number(way.break_even_hours),
    }


def _by_data(charged: Iterable[Charge], field: str) -> list[dict[str, Any]]:
    sums = by(charged, lambda one: getattr(one, field))
    return [{field: name, "usd_per_month_most": number(usd)} for name, usd in sums.items()]
