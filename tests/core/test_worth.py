"""What is to be said of a point, and what it rules out."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from capacity.shown import shown
from capacity.sweeps.derived import load_rps
from capacity.sweeps.objective import objective
from capacity.sweeps.sweep import Latency, Origin, Point, Sweep
from capacity.sweeps.worth import mixed_configurations, mixed_work, remarks
from tests.core.made_points import closed_point, latency, open_point

PROMISED = objective({"ttft": Fraction(600)}, Fraction(99))
SOUND = open_point(8.0, 0.5, 7.8)


def said(point: Point) -> dict[str, str]:
    return {remark.code: remark.rules_out for remark in remarks(point, PROMISED)}


def test_of_a_sound_point_there_is_nothing_to_say() -> None:
    assert said(SOUND) == {}


SAID: dict[str, tuple[dict[str, object], dict[str, str]]] = {
    "no arrivals": ({"arrivals": None}, {"arrivals-unknown": "load"}),
    "burst": (
        {"arrivals": "burst", "requested_rps": None},
        {"burst": "load", "first-wave": "nothing"},
    ),
    "a trace": ({"arrivals": "replay", "requested_rps": None}, {"replay": "nothing"}),
    "at even distances": ({"is_evenly_spaced": True}, {"even": "nothing"}),
    "at random": ({"is_evenly_spaced": False, "burstiness": 1.0}, {}),
    "evener than at random": ({"burstiness": 2.0}, {"even": "nothing"}),
    "in bunches": ({"burstiness": 0.5}, {}),
    "sent 96 % of 20,000": ({"achieved_rps": 7.7, "completed": 20_000}, {"not-kept-up": "load"}),
    "sent 96 % of 2,000, where chance explains 4.5 %": ({"achieved_rps": 7.7}, {"kept-up-unknown": "nothing"}),
    "sent 95 % of 2,000": ({"achieved_rps": 7.6}, {"not-kept-up": "load"}),
    "sent 96 % of 2,000 at even distances": (
        {"achieved_rps": 7.7, "is_evenly_spaced": True},
        {"not-kept-up": "load", "even": "nothing"},
    ),
    "sent 90 % in bunches, whose number is less certain": (
        {"achieved_rps": 7.2, "burstiness": 0.1},
        {"kept-up-unknown": "nothing"},
    ),
    "sent 96 %, and as many in flight as the client allows": (
        {"achieved_rps": 7.7, "concurrency_limit": 64.0},
        {"not-kept-up": "load"},
    ),
    "sent 96 % of 2,000 at random, fitted to the rate": (
        {"achieved_rps": 7.7, "is_rate_fitted": True},
        {"not-kept-up": "load"},
    ),
    "sent 96 % of nobody knows how many": (
        {"achieved_rps": 7.7, "completed": None},
        {"not-kept-up": "load", "few-requests": "nothing"},
    ),
    "sent 97 %": ({"achieved_rps": 7.76}, {}),
    "sending unknown": (
        {"achieved_rps": None, "duration_s": None, "throughput_rps": None},
        {"sending-unknown": "load"},
    ),
    "2,000 in 250 s and the drain": ({"achieved_rps": None, "duration_s": 260.0}, {}),
    "2,000 in 290 s are not shown to be 8 a second": (
        {"achieved_rps": None, "duration_s": 290.0},
        {"sending-unknown": "nothing"},
    ),
    "sending unknown, and as many in flight as the client allows": (
        {"achieved_rps": None, "duration_s": 290.0, "concurrency_limit": 64.0},
        {"not-kept-up": "load"},
    ),
    "61 ms in the client beside 600 ms": ({"client_queue": Latency(0.061)}, {"client-queue": "load"}),
    "60 ms in the client beside 600 ms": ({"client_queue": Latency(0.06)}, {}),
    "failures": ({"failed": 61}, {"failures": "nothing"}),
    "many failures": ({"failed": 62}, {"failures": "point"}),
    "failures not counted": ({"failed": None}, {"failures-unknown": "nothing"}),
    "cut off": ({"incomplete": 222}, {"incomplete": "nothing"}),
    "many cut off": ({"incomplete": 223}, {"incomplete": "point"}),
    "nothing answered": (
        {"completed": 0, "ttft": None, "e2e": None, "duration_s": 10.0},
        {"nothing-answered": "point"},
    ),
    "all failed": (
        {"completed": 0, "failed": 80, "ttft": None, "e2e": None, "throughput_rps": None},
        {"nothing-answered": "point"},
    ),
    "failed or cut off": (
        {"completed": 0, "failed": 60, "incomplete": 20, "ttft": None, "e2e": None},
        {"nothing-answered": "point", "failures": "point", "incomplete": "point"},
    ),
    "few": ({"completed": 999}, {"few-requests": "nothing"}),
    "enough": ({"completed": 1000}, {}),
    "no number of requests": ({"completed": None}, {"few-requests": "nothing"}),
    "more answered than sent": ({"throughput_rps": 9.0, "e2e": None}, {"little": "point"}),
    "a little more": ({"throughput_rps": 8.7}, {}),
    "more answered than asked for, as chance has it of 100 at random": (
        {"throughput_rps": 9.5, "e2e": None, "achieved_rps": None, "completed": 100, "duration_s": 10.5},
        {"few-requests": "nothing"},
    ),
    "more than chance has it": (
        {"throughput_rps": 9.7, "e2e": None, "achieved_rps": None, "completed": 100, "duration_s": 10.3},
        {"few-requests": "nothing", "little": "point"},
    ),
    "short": ({"duration_s": 77.0}, {"short": "nothing"}),
    "not short": ({"duration_s": 78.0}, {}),
    "Little": ({"concurrency": 56.0}, {"little": "nothing"}),
    "Little, within a tenth": ({"concurrency": 57.0}, {}),
}


@pytest.mark.parametrize("name", SAID)
def test_each_remark(name: str) -> None:
    change, expected = SAID[name]
    assert said(replace(SOUND, **change)) == expected  # type: ignore[arg-type]


def test_a_closed_loop_and_its_first_wave() -> None:
    assert said(closed_point(50, 6.4)) == {"closed-loop": "load"}
    many = closed_point(512, 6.4, completed=5120, duration_s=800.0)
    assert said(many) == {"closed-loop": "load", "first-wave": "nothing"}
    assert "the first 512 requests came together, of 5120" in str(remarks(many, PROMISED))
    behind_a_limit = replace(closed_point(50, 6.4), arrivals="burst")
    assert said(behind_a_limit) == {"closed-loop": "load"}


def test_too_few_to_tell_says_what_chance_explains_and_counts_what_was_sent() -> None:
    (remark,) = remarks(replace(SOUND, achieved_rps=7.7))
    assert "sent 7.7 of the 8 requests/s asked: of 2000 requests chance alone takes up to 4.472 %" in remark.text
    assert load_rps(replace(SOUND, achieved_rps=7.7)) == Fraction("7.7")


@given(st.integers(1, 10**6), st.floats(0.01, 0.99))
def test_the_shortfall_that_is_left_to_chance_shrinks_to_the_threshold(requests: int, share: float) -> None:
    """Of few requests much, of many none: from 4,445 on (1 / sqrt x 2 = 3 %) only the threshold counts."""
    codes = said(replace(SOUND, achieved_rps=8 * share, completed=requests))
    behind = {"not-kept-up", "kept-up-unknown"} & codes.keys()
    assert bool(behind) == (8 * share < 0.97 * 8)
    if requests >= 4445:
        assert "kept-up-unknown" not in codes
    more = said(replace(SOUND, achieved_rps=8 * share, completed=requests * 4))
    assert "not-kept-up" not in codes or "not-kept-up" in more


def test_a_client_that_fell_behind_names_how_many_it_held() -> None:
    behind = replace(
        SOUND,
        requested_rps=122.59,
        achieved_rps=106.49371985245213,
        throughput_rps=101.23196666445972,
        concurrency_limit=440.0,
        e2e=latency(3.844),
    )
    (remark,) = [remark for remark in remarks(behind) if remark.code == "not-kept-up"]
    assert "106.5 of the 122.6" in remark.text
    assert "389.1 in flight by Little's law, of at most 440" in remark.text


def test_what_cannot_be_told_of_sending_counts_as_the_least_it_can_have_been() -> None:
    assert load_rps(SOUND) == 8
    assert load_rps(replace(SOUND, achieved_rps=7.9)) == Fraction("7.9")
    assert load_rps(replace(SOUND, achieved_rps=8.1)) == 8
    assert load_rps(replace(SOUND, achieved_rps=None, duration_s=260.0)) == 8
    assert load_rps(replace(SOUND, achieved_rps=None, duration_s=260.0, e2e=None)) == Fraction(100, 13)
    assert load_rps(replace(SOUND, achieved_rps=None, duration_s=290.0)) == Fraction(200, 29)


def test_an_answer_is_reckoned_from_first_token_and_pace_where_the_file_has_no_whole() -> None:
    """0.5 s and 399 tokens of 18 ms are 7.682 s: 6.4 of them a second are 49.2 in flight."""
    paced = replace(closed_point(50, 6.4), e2e=None, tpot=Latency(0.018), output_tokens_mean=400.0)
    assert "little" not in said(paced)
    assert "little" in said(replace(paced, tpot=Latency(0.025)))


def test_no_number_of_requests_shows_all_of_them() -> None:
    everything = objective({"ttft": Fraction(600)}, Fraction(100))
    (remark,) = [remark for remark in remarks(SOUND, everything) if remark.code == "few-requests"]
    assert "no number is enough" in remark.text


def made(name: str, tokens: float | None = None, **configuration: str) -> Point:
    return Point(Origin(name), "made", configuration=configuration, output_tokens_mean=tokens)


def test_mixed_configurations_are_named_and_unknown_is_no_difference() -> None:
    same = Sweep("s", (made("a", model="8b"), made("b"), made("c", model="8b", gpus="1")))
    assert mixed_configurations(same) == ()
    different = Sweep("s", (*same.points, made("d", model="70b", gpus="1")))
    assert mixed_configurations(different) == ("model: 8b (a), 70b (d)",)


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (92.19, "92.19"), (0.18182665, "0.1818"), (104250.4, "104250"), (0.00002, "0.00002"), (None, "?")],
)
def test_numbers_as_a_sentence_has_them(number: float | None, text: str) -> None:
    assert shown(number) == text


def test_mixed_work_is_told() -> None:
    assert mixed_work(Sweep("s", (made("a", 400), made("b", 361), made("c")))) == ()
    assert mixed_work(Sweep("s", (made("a", 400), made("b", 359)))) == ("answers of 359 to 400 tokens on average",)
