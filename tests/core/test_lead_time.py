from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import ceil, comb
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from prescale.lead_time.history import DAYS, MOST, MOST_OF_ALL, History, parse_data
from prescale.lead_time.kind import kind_of
from prescale.lead_time.measuring import LeftOut, start_of
from prescale.lead_time.reckoning import LeadTime, lead_time, longest_s, of_spec, p95_rank, sure_rank
from prescale.lead_time.start import PHASES, Phases, Start, Unreadable, parse
from stacks.spec import ColdStart
from tests.core.start_cases import BEGAN, POOL, SERVICE, at, pod, text

KIND = kind_of(SERVICE, POOL)


def measured(given: dict[str, Any], now_s: float = 1000) -> Start | None:
    return start_of(given, SERVICE, POOL, at(now_s))


# --- one start ---


def test_a_start_in_its_phases() -> None:
    start = measured(pod())
    assert start
    assert start == Start(KIND, BEGAN, "x2x4z", 306, Phases(1, 3, 120, 182, 0))
    assert start.remaining_s == (306, 305, 302, 182, 0)


def test_images_on_both_sides_of_the_weights_are_one_phase() -> None:
    start = measured(pod(scheduled=10, loads=(40, 160), engine=300, containers_ready=480, ready=480))
    assert start
    assert start.phases == Phases(10, 170, 120, 180, 0)


def test_a_readiness_gate_is_a_phase_of_its_own() -> None:
    start = measured(pod(ready=340))
    assert start
    assert (start.total_s, start.phases.ready_s) == (340, 34)


def test_on_its_way_or_on_its_way_out_is_no_start_yet() -> None:
    assert measured(pod(containers_ready=None, ready=None)) is None
    assert measured(pod(deletionTimestamp=text(400))) is None


def _without(path: tuple[Any, ...]) -> Callable[[dict[str, Any]], None]:
    def spoil(given: dict[str, Any]) -> None:
        *way, last = path
        for part in way:
            given = given[part]
        del given[last]

    return spoil


ENGINE = ("spec", "containers", 0)
STATUS = ("status", "containerStatuses", 0)


@pytest.mark.parametrize(
    ("given", "phases"),
    [
        (pod(scheduled=None), Phases(None, None, 120, 182, 0)),
        (pod(loads=None), Phases(1, None, None, 182, 0)),
        (pod(loads=(3, None)), Phases(1, None, None, 182, 0)),
        (pod(loads=(123, 3)), Phases(1, None, None, 182, 0)),
        (pod(scheduled=130), Phases(130, None, 120, 182, 0)),
        (pod(created=2, scheduled=1), Phases(None, 3, 120, 182, 0)),
    ],
    ids=[
        "unscheduled",
        "no init status",
        "init without end",
        "init ends before it begins",
        "node behind",
        "api behind",
    ],
)
def test_what_is_not_known_is_unknown_and_not_0(given: dict[str, Any], phases: Phases) -> None:
    start = measured(given)
    assert start
    assert start.phases == phases
    assert start.remaining_s[0] == start.total_s


@pytest.mark.parametrize(
    ("given", "now_s", "why"),
    [
        (pod(restarts=1), 1000, "a container of it was restarted"),
        (pod(), 290, "ahead of the API server's"),
        (pod(engine=400), 1000, "run backwards"),
        (pod(created=200, scheduled=201), 1000, "run backwards"),
        (pod(engine=None), 1000, "does not say when its engine was started"),
        (pod(containers_ready=3600, ready=3600), 9000, "was not Ready for a while"),
        (pod(ready=306 + 901), 9000, "was not Ready for a while"),
    ],
)
def test_what_is_left_out_and_why(given: dict[str, Any], now_s: float, why: str) -> None:
    with pytest.raises(LeftOut, match=why):
        measured(given, now_s)


def test_a_first_ready_as_late_as_the_startup_probe_allows_is_one() -> None:
    latest = 124 + (6 * 70 + 5) + (2 * 3 + 5) + 30
    assert measured(pod(containers_ready=latest, ready=latest))
    with pytest.raises(LeftOut, match="for a while"):
        measured(pod(containers_ready=latest + 1, ready=latest + 1))


def test_without_a_startup_probe_a_flap_cannot_be_told() -> None:
    given = pod()
    _without((*ENGINE, "startupProbe"))(given)
    with pytest.raises(LeftOut, match="without a startup probe"):
        measured(given)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ((*ENGINE, "image"), "vllm/vllm-openai@sha256:other"),
        ((*ENGINE, "args"), ["/weights/other-12345678"]),
        ((*ENGINE, "resources", "limits"), {"nvidia.com/gpu": "8"}),
        (("spec", "affinity"), {}),
    ],
)
def test_a_pod_of_another_kind_does_not_count(path: tuple[Any, ...], value: Any) -> None:
    given = pod()
    *way, last = path
    part: Any = given
    for name in way:
        part = part[name]
    part[last] = value
    assert measured(given) is None


def test_the_kind_is_image_revision_gpus_and_pool() -> None:
    model = SERVICE.model.model_copy(update={"revision": "other"})
    others = [
        kind_of(SERVICE.model_copy(update={"model": model}), POOL),
        kind_of(SERVICE.model_copy(update={"gpus_per_replica": 2}), POOL),
        kind_of(SERVICE.model_copy(update={"node_pool": "other"}), POOL),
        kind_of(SERVICE, POOL.model_copy(update={"instance_types": ["p5.48xlarge"]})),
    ]
    assert len({KIND, *others}) == 5
    longer = SERVICE.cold_start.model_copy(update={"weights_s": 1})
    assert kind_of(SERVICE.model_copy(update={"cold_start": longer, "owner": "b"}), POOL) == KIND


def test_what_is_no_pod_is_left_out() -> None:
    for path in [("metadata", "creationTimestamp"), (*STATUS, "name")]:
        given = pod()
        _without(path)(given)
        with pytest.raises(LeftOut, match="not as a pod should be"):
            measured(given)


# --- the line, and the history ---

SECONDS = st.one_of(st.none(), st.integers(0, 99999))
STARTS = st.builds(
    Start,
    st.sampled_from([KIND, "0" * 8]),
    st.integers(-200 * 86400, 0).map(at),
    st.text("bcdfghjklmnpqrstvwxz2456789", min_size=5, max_size=5),
    st.integers(1, 99999),
    st.builds(Phases, SECONDS, SECONDS, SECONDS, SECONDS, SECONDS),
)


def test_the_line() -> None:
    start = Start("1f2e3d4c", at(3), "x2x4z", 305, Phases(1, None, 120, 182, 0))
    assert start.line() == "1f2e3d4c 2027-10-29T14:00:03Z x2x4z 305 1 ? 120 182 0"


@given(STARTS)
def test_a_line_is_read_back(start: Start) -> None:
    assert parse(start.line()) == start
    assert len(start.line()) < 80


@given(st.text(max_size=60))
def test_any_other_text_is_no_start(line: str) -> None:
    with pytest.raises(Unreadable):
        parse(line)


@given(STARTS)
def test_less_is_left_at_each_later_phase(start: Start) -> None:
    left = start.remaining_s
    assert left[0] == start.total_s
    assert all(one >= other for one, other in pairwise(left))


@given(st.lists(STARTS, max_size=30), st.lists(STARTS, max_size=30), st.integers(1, 900))
def test_the_history_is_bounded_and_keeps_what_it_saw_first(
    known: list[Start], seen: list[Start], services: int
) -> None:
    before = History({"support-bot": tuple(known)})
    after = before.with_seen({"support-bot": seen}, services, BEGAN)
    kept = after.starts.get("support-bot", ())
    assert len(kept) <= min(MOST, MOST_OF_ALL // services)
    assert len({(one.created, one.pod) for one in kept}) == len(kept)
    assert {*kept} <= {*known, *seen}
    assert all(one.created >= BEGAN.subtract(hours=24 * DAYS) for one in kept)
    first_words = {(one.created, one.pod) for one in known}
    assert all(one in known for one in kept if (one.created, one.pod) in first_words)
    assert parse_data(after.data()) == after
    again = after.with_seen({"support-bot": seen}, services, BEGAN)
    assert again == after


def test_the_newest_are_kept() -> None:
    starts = [Start(KIND, at(-n), f"p{n}", 300, Phases()) for n in range(MOST + 20)]
    kept = History().with_seen({"support-bot": starts}, 1, BEGAN).starts["support-bot"]
    assert [one.pod for one in kept] == [f"p{n}" for n in reversed(range(MOST))]


def test_only_the_kind_that_is_asked_for_and_not_too_old() -> None:
    starts = [
        Start(KIND, at(-60), "a", 300, Phases()),
        Start("0" * 8, at(-60), "b", 900, Phases()),
        Start(KIND, at(-DAYS * 86400 - 1), "c", 900, Phases()),
    ]
    history = History({"support-bot": tuple(starts)})
    assert [one.pod for one in history.of("support-bot", KIND, BEGAN)] == ["a"]
    assert history.of("other", KIND, BEGAN) == ()


def test_lines_that_are_no_starts_are_counted_and_passed_over() -> None:
    line = Start(KIND, BEGAN, "x2x4z", 305, Phases()).line()
    history = parse_data({"support-bot": f"{line}\nrubbish\n", "x": f"{KIND} yesterday p 1 1 1 1 1 1"})
    assert (len(history.starts["support-bot"]), history.unreadable) == (1, 2)


def test_all_services_fit_into_one_object() -> None:
    starts = [Start(KIND, at(-n), f"p{n:04}", 99999, Phases(9999, 9999, 9999, 9999, 999)) for n in range(MOST)]
    seen = {f"a-service-of-forty-characters-long-{n:05}": starts for n in range(500)}
    data = History().with_seen(seen, len(seen), BEGAN).data()
    assert sum(len(name) + len(value) for name, value in data.items()) < 1_000_000


# --- the lead time ---

COLD = ColdStart(weights_s=120, engine_start_s=180)
REPLACES = COLD.model_copy(update={"measured": "replaces"})
IGNORED = COLD.model_copy(update={"measured": "ignored"})


def starts(*totals_s: int) -> list[Start]:
    return [Start(KIND, at(-n), f"p{n}", total, Phases(0, 0, 100, total - 100, 0)) for n, total in enumerate(totals_s)]


def names(lead: LeadTime) -> dict[str, int]:
    return {name: takes_s for name, takes_s in lead.links if takes_s}


def test_without_starts_platform_yaml_counts() -> None:
    lead = lead_time(COLD, [])
    assert lead == of_spec(COLD)
    assert (lead.basis, lead.total_s, names(lead)) == ("platform.yaml", 300, {"weights": 120, "engine start": 180})
    assert [lead.remaining_s(phase) for phase in range(5)] == [300, 300, 300, 180, 0]


def test_longer_counts_at_once_and_says_its_phases() -> None:
    lead = lead_time(COLD, starts(400))
    assert (lead.basis, lead.total_s, lead.spec_s) == ("measured", 400, 300)
    assert names(lead) == {"weights": 100, "engine start": 300}
    assert lead_time(COLD, starts(*[290] * 19, 400)).total_s == 300, "19 of 20 did not exceed 290"
    assert lead_time(COLD, starts(*[290] * 18, 400)).total_s == 400, "of fewer than 20 the largest"


def test_shorter_counts_only_if_it_is_wished_for_and_sure() -> None:
    many = starts(*range(101, 160))
    assert len(many) == 59
    assert lead_time(COLD, many).total_s == 300
    assert lead_time(REPLACES, many[:-1]).total_s == 300
    lead = lead_time(REPLACES, many)
    assert (lead.basis, lead.total_s) == ("measured", 159)
    assert lead.measured
    assert (lead.measured.p95_s, lead.measured.sure_s, lead.measured.longest_s) == (157, 159, 159)
    assert lead_time(REPLACES, starts(*[200] * 92, 299)).total_s == 200, "93: the second largest"
    assert lead_time(REPLACES, starts(*[200] * 58, 301)).total_s == 300, "the bound is above what platform.yaml says"


def test_ignored_is_ignored() -> None:
    assert lead_time(IGNORED, starts(*[900] * 80)) == of_spec(COLD)


def test_who_waited_for_a_node_that_was_not_there_is_no_start() -> None:
    assert longest_s(300) == 3600
    assert longest_s(2000) == 8000
    lead = lead_time(COLD, starts(310, 3601))
    assert (lead.total_s, lead.outages) == (310, 1)
    assert lead_time(COLD, starts(3601)).outages == 1


def test_a_phase_nobody_knows_stays_unknown() -> None:
    lead = lead_time(COLD, [Start(KIND, BEGAN, "p", 400, Phases(5, None, None, 200, 0))])
    assert lead.measured
    assert lead.measured.phases_s == (5, None, None, 200, 0)
    assert dict(lead.links) == {"nodes": 5, "image": 0, "weights": 195, "engine start": 200, "readiness gates": 0}


@given(st.lists(STARTS, min_size=1, max_size=120), st.sampled_from([COLD, REPLACES, IGNORED]))
def test_the_links_add_up_and_a_raise_is_never_late_without_certainty(given: list[Start], cold: ColdStart) -> None:
    lead = lead_time(cold, given)
    counted = sorted(one.total_s for one in given if one.total_s <= longest_s(300))
    assert [name for name, _ in lead.links] == [*PHASES]
    assert all(takes_s >= 0 for _, takes_s in lead.links)
    assert lead.total_s <= longest_s(300)
    if cold is COLD:
        assert lead.total_s == max([300, *counted[ceil(Fraction(95 * len(counted), 100)) - 1 :][:1]])
    if lead.total_s < 300:
        assert cold is REPLACES
        assert len(counted) >= 59
        at_most = sum(one <= lead.total_s for one in counted)
        assert at_most > 0.95 * len(counted)


@given(st.integers(1, 400))
def test_the_sure_rank_is_the_first_with_95_pct_certainty(count: int) -> None:
    def certainty(rank: int) -> Fraction:
        """That the rank-th of `count` is at or above the true p95: fewer than `rank` of them are below it."""
        share = Fraction(95, 100)
        return sum(
            (comb(count, below) * share**below * (1 - share) ** (count - below) for below in range(rank)), Fraction(0)
        )

    rank = sure_rank(count)
    if rank is None:
        assert certainty(count) < Fraction(95, 100)
        assert count < 59
    else:
        assert certainty(rank) >= Fraction(95, 100)
        assert certainty(rank - 1) < Fraction(95, 100)
        assert rank >= p95_rank(count)
