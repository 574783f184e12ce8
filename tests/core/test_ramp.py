"""A floor that rises in steps before T0."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from whenever import Instant

from prescale.floors.ramp import Ramp, rises
from prescale.preflight.moments import ahead
from prescale.windows.timetable import timetable
from prescale.windows.window import Timetable
from tests.core.cluster_double import scaled_object
from tests.core.decision_cases import minimum, run
from tests.core.stack_files import calendar, stack

SALE = "name: a, start: 2027-10-29 20:00, end: 2027-10-29 22:00, SERVICES"
# Raised 1800 s ahead, of which 1500 s are margin: 6.76845 replicas, from a baseline of 2.
RAMPED = SALE.replace("SERVICES", "ramp: {steps: 4, over_s: 3600}, SERVICES")
T0 = Instant.from_utc(2027, 10, 29, 14, 30)


def of(root: Path, *events: str) -> Timetable:
    return timetable(stack(root, events=calendar(*events)))


def test_each_step_is_raised_lead_and_margin_before_it_is_needed(tmp_path: Path) -> None:
    (window,) = of(tmp_path, RAMPED).windows
    # 2 + 4.76845 x 1/4 = 3.1921, 4.3842, 5.5763, 6.76845
    assert [(rise.floor, rise.at.format_iso()[11:16]) for rise in window.rises] == [
        (4, "19:00"),
        (5, "19:15"),
        (6, "19:30"),
        (7, "19:45"),
    ]
    assert [rise.raise_at.format_iso()[11:16] for rise in window.rises] == ["13:00", "13:15", "13:30", "13:45"]
    assert window.raise_at == window.rises[0].raise_at
    assert [step.name for step in window.steps] == ["weights", "engine start", "ready, with a margin"]
    floors = {minutes: window.floor_at(T0.add(minutes=minutes)) for minutes in (-91, -90, -75, -60, -45, 0, 119, 120)}
    assert [*floors.values()] == [0, 4, 5, 6, 7, 7, 7, 0]


def test_the_record_follows_the_steps_and_lets_go_at_the_end(tmp_path: Path) -> None:
    windows = [*of(tmp_path, RAMPED).windows]
    target = scaled_object(minimum=2, maximum=16, baseline="2")
    seen = []
    for minutes in (-91, -90, -80, -75, -60, -45, 119, 120):
        target, _ = run(target, windows, 60 * minutes)
        seen.append(minimum(target))
    assert seen == [2, 4, 4, 5, 6, 7, 7, 2]


def test_an_event_gone_in_the_middle_is_held_where_it_had_come_to(tmp_path: Path) -> None:
    target = scaled_object(minimum=2, maximum=16, baseline="2")
    target, _ = run(target, [*of(tmp_path, RAMPED).windows], -70 * 60)
    assert minimum(run(target, [], -45 * 60)[0]) == 5
    assert minimum(run(target, [], 121 * 60)[0]) == 2


def test_a_step_above_the_live_ceiling_leaves_those_before_it(tmp_path: Path) -> None:
    windows = [*of(tmp_path, RAMPED).windows]
    target = scaled_object(minimum=2, maximum=6, baseline="2")
    for minutes in (-90, -75, -60):
        target, decision = run(target, windows, 60 * minutes)
        assert decision.findings == ()
    target, decision = run(target, windows, -45 * 60)
    assert minimum(target) == 6
    assert "7 was refused, it is above the live ceiling of 6" in decision.findings[0]


def test_preflight_asks_about_the_whole_floor(tmp_path: Path) -> None:
    loaded = stack(tmp_path, events=calendar(RAMPED))
    (moment,) = ahead(loaded, timetable(loaded), T0.subtract(hours=24))
    assert (moment.at, moment.floors["support-bot"]) == (T0.subtract(minutes=45), 7)


def test_below_the_baseline_there_is_one_step(tmp_path: Path) -> None:
    (window,) = of(tmp_path, RAMPED.replace("SERVICES", "services: {support-bot: {replicas: 1}}")).windows
    assert [rise.floor for rise in window.rises] == [1]
    assert window.rises[0].at.to_instant() == T0.subtract(seconds=3600)


def test_what_repeats_is_looked_for_as_early_as_its_ramp_begins(tmp_path: Path) -> None:
    """A day's ramp: on every day the next four weeks' first steps are known, and the one that has begun."""
    daily = RAMPED.replace("over_s: 3600", "over_s: 86400").replace("SERVICES", "repeat: {rule: FREQ=DAILY}, SERVICES")
    loaded = stack(tmp_path, events=calendar(daily))
    now = Instant.from_utc(2027, 11, 5)
    windows = timetable(loaded, now).windows
    assert max(window.raise_at for window in windows) > now.add(seconds=27 * 86400)


STEPS = st.builds(Ramp, steps=st.integers(2, 20), over_s=st.integers(60, 86400))
NEEDED = st.fractions(0, 200, max_denominator=10**4).filter(bool)


@given(STEPS, NEEDED, st.integers(0, 40))
def test_it_only_rises_to_the_whole_and_is_never_below_the_line(ramp: Ramp, needed: Fraction, baseline: int) -> None:
    t0 = T0.to_tz("Asia/Kolkata")
    found = rises(t0, needed, baseline, ramp)
    floors, times = [rise.floor for rise in found], [rise.at.to_instant() for rise in found]
    assert floors == sorted(set(floors))
    assert times == sorted(set(times))
    assert floors[-1] == -(-needed.numerator // needed.denominator)
    assert times[0] == T0.subtract(seconds=ramp.over_s)
    assert times[-1] < T0
    low = min(Fraction(baseline), needed)
    for share in (Fraction(part, 37) for part in range(38)):
        moment = T0.subtract(seconds=int(ramp.over_s * (1 - share)))
        line = low + (needed - low) * (1 - Fraction(int(ramp.over_s * (1 - share)), ramp.over_s))
        assert max(rise.floor for rise in found if rise.at.to_instant() <= moment) >= line
