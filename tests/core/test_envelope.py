"""Many products on shared replicas: quotas against the envelope, and everybody's peak at once."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from capacity.sizing.envelope import Allotment, Tenant, admitted, divided

AMOUNTS = st.decimals(0, 1000, places=2)
SHARES = st.decimals("0.01", 10, places=2)
TENANTS = st.lists(
    st.tuples(AMOUNTS, st.one_of(st.none(), AMOUNTS), SHARES, st.integers(0, 2)), min_size=1, max_size=6
).map(lambda rows: [Tenant(f"t{row}", *values) for row, values in enumerate(rows)])
CAPACITY = st.decimals("0.01", 2000, places=2)


def _of(found: tuple[Allotment, ...], name: str) -> Allotment:
    return next(one for one in found if one.tenant == name)


def test_shares_divide_what_fixed_quotas_leave() -> None:
    envelope = divided(280, [Tenant("chat", 150, share=2), Tenant("search", 60), Tenant("batch", 500, quota=40)])
    assert [one.quota for one in envelope.allotments] == [160, 80, 40]
    assert envelope.over_commit == 1
    assert [one.at_peak for one in envelope.allotments] == [150, 60, 40]
    assert _of(envelope.allotments, "batch").over_quota == 460
    assert envelope.spare_at_peak == 30


def test_promises_of_more_than_there_is_meet_in_the_peak() -> None:
    tenants = [
        Tenant("chat", 200, quota=200, priority=1),
        Tenant("search", 150, quota=150, share=2),
        Tenant("batch", 300, quota=100, share=1),
    ]
    envelope = divided(320, tenants)
    assert envelope.quotas == 450
    assert envelope.over_commit == Fraction(45, 32)
    chat, search, batch = envelope.allotments
    assert [chat.at_peak, chat.crowded_out, chat.guaranteed] == [200, 0, 200]
    assert [search.at_peak, search.crowded_out, search.guaranteed] == [80, 70, 80]
    assert [batch.at_peak, batch.crowded_out, batch.over_quota, batch.guaranteed] == [40, 60, 200, 40]
    # Without priorities and shares the others may have been first: 320 - 150 - 100, 320 - 200 - 100, 320 - 200 - 150.
    assert [one.unordered for one in envelope.allotments] == [70, 20, 0]


def test_who_wants_less_than_its_share_leaves_it_to_the_others() -> None:
    tenants = [Tenant(name, 0) for name in ("a", "b", "c")]
    wanted = {"a": Fraction(10), "b": Fraction(100), "c": Fraction(100)}
    assert admitted(Fraction(90), wanted, tenants) == {"a": 10, "b": 40, "c": 40}


def test_fixed_quotas_above_the_envelope_leave_nothing_to_shares() -> None:
    envelope = divided(Decimal(100), [Tenant("a", 50, quota=120), Tenant("b", 50)])
    assert [one.quota for one in envelope.allotments] == [120, 0]
    assert envelope.over_commit == Fraction(6, 5)


@given(CAPACITY, TENANTS)
def test_all_of_the_envelope_is_used_and_no_more(capacity: Decimal, tenants: list[Tenant]) -> None:
    envelope = divided(capacity, tenants)
    wanted = sum((one.at_peak + one.crowded_out for one in envelope.allotments), Fraction(0))
    assert sum(one.at_peak for one in envelope.allotments) == min(wanted, Fraction(capacity))
    for tenant, one in zip(tenants, envelope.allotments, strict=True):
        assert one.at_peak + one.crowded_out + one.over_quota == tenant.peak
        assert 0 <= one.at_peak <= one.quota
        assert min(one.crowded_out, one.over_quota) >= 0


@given(CAPACITY, TENANTS)
def test_nobody_is_crowded_out_while_quotas_are_within_the_envelope(capacity: Decimal, tenants: list[Tenant]) -> None:
    envelope = divided(capacity, tenants)
    if envelope.over_commit <= 1:
        assert all(one.crowded_out == 0 for one in envelope.allotments)
        assert all(one.guaranteed == one.unordered == one.quota for one in envelope.allotments)


@given(CAPACITY, TENANTS, st.data())
def test_no_behaviour_of_the_neighbours_takes_what_is_guaranteed(
    capacity: Decimal, tenants: list[Tenant], data: st.DataObject
) -> None:
    envelope = divided(capacity, tenants)
    quotas = {one.tenant: one.quota for one in envelope.allotments}
    victim = data.draw(st.sampled_from(tenants)).name
    wanted = {name: quota * data.draw(st.fractions(0, 1)) for name, quota in quotas.items()}
    got = admitted(Fraction(capacity), wanted, tenants)[victim]
    bound = _of(envelope.allotments, victim)
    assert got >= min(wanted[victim], bound.guaranteed)
    if bound.unordered:  # it is free even where every neighbour came first
        assert sum(wanted[name] for name in wanted if name != victim) + bound.unordered <= Fraction(capacity)


@given(CAPACITY, TENANTS)
def test_a_higher_priority_is_never_crowded_out_by_a_lower(capacity: Decimal, tenants: list[Tenant]) -> None:
    found = divided(capacity, tenants).allotments
    for tenant, one in zip(tenants, found, strict=True):
        if one.crowded_out:
            lower = [other for peer, other in zip(tenants, found, strict=True) if peer.priority < tenant.priority]
            assert all(other.at_peak == 0 for other in lower)


@given(CAPACITY, TENANTS)
def test_a_larger_envelope_gives_nobody_less(capacity: Decimal, tenants: list[Tenant]) -> None:
    wanted = {one.name: Fraction(one.peak) for one in tenants}
    small = admitted(Fraction(capacity), wanted, tenants)
    large = admitted(Fraction(capacity) * 2, wanted, tenants)
    assert all(large[name] >= small[name] for name in small)
