"""Many products on shared replicas: what each may have in flight, and what it gets when all come at once.

The envelope is what the replicas carry at their operating target. A quota bounds a tenant at the gateway, whatever the
others do; priorities and shares decide who is admitted when the quotas together are more than the envelope. All
numbers are of one unit: requests in flight, or tokens per second.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from capacity.replicas import Exact


@dataclass(frozen=True)
class Tenant:
    """One product. `quota` is its bound; a tenant without one has its `share` of what the fixed quotas leave.

    `share` also weighs tenants of one `priority` against each other when not all fit; a higher priority goes first.
    """

    name: str
    peak: Exact
    quota: Exact | None = None
    share: Exact = 1
    priority: int = 0


@dataclass(frozen=True)
class Allotment:
    """What one tenant is bound to and gets.

    at_peak: admitted while every tenant is at its peak. over_quota: of its peak, refused for its own quota.
    crowded_out: of its peak, refused although within its quota, because all peak. guaranteed: what it gets of its
    quota while all others use theirs whole, once requests that run have ended: no slot is taken from one. unordered:
    the same without priorities and shares, first come first served: what neighbours leave who come first.
    """

    tenant: str
    quota: Fraction
    at_peak: Fraction
    over_quota: Fraction
    crowded_out: Fraction
    guaranteed: Fraction
    unordered: Fraction


@dataclass(frozen=True)
class Envelope:
    """The replicas' capacity divided. With `quotas` above `capacity`, not every promise can be kept at once."""

    capacity: Fraction
    quotas: Fraction
    allotments: tuple[Allotment, ...]

    @property
    def over_commit(self) -> Fraction:
        """Sum of quotas to capacity: above 1 not everyone can have what it may."""
        return self.quotas / self.capacity

    @property
    def spare_at_peak(self) -> Fraction:
        """Capacity nobody is admitted to when all peak."""
        return self.capacity - sum((one.at_peak for one in self.allotments), Fraction(0))


def divided(capacity: Exact, tenants: Sequence[Tenant]) -> Envelope:
    """Divide `capacity`, above 0, among `tenants`, whose shares are above 0.

    Returns: allotments in the order of `tenants`.
    """
    whole = Fraction(capacity)
    quotas = _quotas(whole, tenants)
    peaks = {one.name: Fraction(one.peak) for one in tenants}
    wanted = {name: min(peaks[name], quotas[name]) for name in peaks}
    at_peak = admitted(whole, wanted, tenants)
    # Full quotas of all at once are the worst neighbours a tenant that uses its own can have.
    guaranteed = admitted(whole, quotas, tenants)
    everyone = sum(quotas.values(), Fraction(0))
    allotments = tuple(
        Allotment(
            tenant=name,
            quota=quotas[name],
            at_peak=at_peak[name],
            over_quota=peaks[name] - wanted[name],
            crowded_out=wanted[name] - at_peak[name],
            guaranteed=guaranteed[name],
            unordered=min(quotas[name], max(Fraction(0), whole - (everyone - quotas[name]))),
        )
        for name in peaks
    )
    return Envelope(whole, everyone, allotments)


def _quotas(capacity: Fraction, tenants: Iterable[Tenant]) -> dict[str, Fraction]:
    tenants = tuple(tenants)
    left = max(Fraction(0), capacity - sum(Fraction(one.quota) for one in tenants if one.quota is not None))
    shares = sum((Fraction(one.share) for one in tenants if one.quota is None), Fraction(0))
    return {
        one.name: left * Fraction(one.share) / shares if one.quota is None else Fraction(one.quota) for one in tenants
    }


def admitted(capacity: Fraction, wanted: Mapping[str, Fraction], tenants: Iterable[Tenant]) -> dict[str, Fraction]:
    """Who gets how much of `wanted`: priority by priority, highest first, and by shares within one.

    Returns: by tenant, never more than wanted, together never more than `capacity`, and all of the smaller of the two.
    """
    tenants = tuple(tenants)
    found: dict[str, Fraction] = {}
    for priority in sorted({one.priority for one in tenants}, reverse=True):
        equals = {one.name: Fraction(one.share) for one in tenants if one.priority == priority}
        got = _by_shares(capacity, {name: wanted[name] for name in equals}, equals)
        found |= got
        capacity -= sum(got.values(), Fraction(0))
    return found


def _by_shares(
    capacity: Fraction, wanted: Mapping[str, Fraction], shares: Mapping[str, Fraction]
) -> dict[str, Fraction]:
    """Weighted max-min fairness: who wants less than its share gets it all, and what it leaves goes to the others.

    Source: D. Bertsekas and R. Gallager, Data Networks (1992), section 6.5.2, max-min flow control.
    """
    found: dict[str, Fraction] = {}
    open_shares = sum(shares.values(), Fraction(0))
    # Those satisfied first are those who want least for their share.
    for name in sorted(wanted, key=lambda name: wanted[name] / shares[name]):
        found[name] = min(wanted[name], capacity * shares[name] / open_shares)
        capacity -= found[name]
        open_shares -= shares[name]
    return found
