"""Failures other people have reported in public, with their own input. Each stands for its kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from whenever import Instant

from prescale.clock import Clock, moment
from prescale.outcome import Outcome
from prescale.pod_states import pod_states
from prescale.sync import Run, sync
from prescale.warmth import Sighting, look
from prescale.windows.timetable import timetable
from stacks import ownership
from stacks.faults import InputError
from stacks.loader import Stack
from tests.core.api_double import ApiDouble
from tests.core.cluster_double import scaled_object, seen
from tests.core.stack_files import Edit, all_of, calendar, stack, swap
from tests.core.test_warmth import pod

pytestmark = pytest.mark.usefixtures("no_waiting")

NEW_YORK, KOLKATA = "America/New_York", "Asia/Kolkata"
AT_ONCE = swap("cold_start: {weights_s: 120, engine_start_s: 180}", "cold_start: {weights_s: 0, engine_start_s: 1}")
SIXTY = all_of(swap("max_nodes: 18", "max_nodes: 60"), swap("max: 16}", "max: 60}"))
SALE = "name: sale, start: 2027-10-29 20:00, end: 2027-10-30 00:30, SERVICES"


def event(name: str, start: str, end: str, floor: int = 7) -> str:
    """An event whose load comes to `floor` replicas of 40 requests in flight."""
    demand = f"services: {{support-bot: {{rps: {floor * 40}, request_duration_s: 1, headroom_pct: 0}}}}"
    return f"name: {name}, start: '{start}', end: '{end}', {demand}"


def run(api: ApiDouble, loaded: Stack, time: str) -> Outcome:
    """One `prescale sync` at a local time of the calendar's zone, or an instant with its offset."""
    now = moment(time, loaded.calendar.timezone)
    cluster = api.cluster()
    cluster.clock = Clock  # type: ignore[method-assign]
    (outcome,) = sync(Run("local", timetable(loaded, now), ("support-bot",), cluster, lambda: now))
    return outcome


@pytest.mark.parametrize(
    ("zone", "events", "floors"),
    [
        pytest.param(
            NEW_YORK,
            [event(f"day-{day}", f"2026-11-{day} 06:30", f"2026-11-{day} 22:10") for day in (26, 27, 30)],
            {"2026-11-27 12:00": 7, "2026-11-27 22:10": 2, "2026-11-28 12:00": 2, "2026-11-29 22:09": 2},
            id="https://github.com/kedacore/keda/issues/4677 - Friday's window does not last to Sunday",
        ),
        pytest.param(
            NEW_YORK,
            [
                event("a", "2026-11-27 19:00", "2026-11-27 22:00", 5),
                event("b", "2026-11-27 20:00", "2026-11-27 21:00", 9),
            ],
            {"2026-11-27 19:30": 5, "2026-11-27 20:30": 9, "2026-11-27 21:30": 5, "2026-11-27 22:00": 2},
            id="https://github.com/kedacore/keda/issues/3646 - two windows, one owner, the larger of the two",
        ),
        pytest.param(
            NEW_YORK,
            [event("sale", "2026-11-27 19:30", "2026-11-27 23:00")],
            {"2026-11-28T00:29:00Z": 2, "2026-11-28T00:30:00Z": 7, "2026-11-28T04:00:00Z": 2, "2027-11-27 20:00": 2},
            id="https://github.com/kubernetes-sigs/karpenter/issues/3074 - another date in UTC, not again next year",
        ),
        pytest.param(
            NEW_YORK,
            [event("fall-back", "2026-11-01 01:30-04:00", "2026-11-01 02:30")],
            {"2026-11-01T01:30:00-04:00": 7, "2026-11-01T01:30:00-05:00": 7, "2026-11-01 02:30": 2},
            id="https://github.com/taichino/croniter/issues/90 - from the first 01:30 of two; libraries differ",
        ),
        pytest.param(
            NEW_YORK,
            [event("spring", "2026-03-08 01:00", "2026-03-08 03:30")],
            {"2026-03-08 00:59": 2, "2026-03-08 01:00": 7, "2026-03-08T03:29:00-04:00": 7, "2026-03-08 03:30": 2},
            id="https://github.com/kedacore/keda/issues/4677 - a window over the gap is neither skipped nor a day long",
        ),
    ],
)
def test_floors(tmp_path: Path, zone: str, events: list[str], floors: dict[str, int]) -> None:
    loaded = stack(tmp_path, platform=AT_ONCE, events=calendar(*events, timezone=zone, margin_s=0))
    api = ApiDouble(scaled_object())
    found = {}
    for time in floors:
        assert not run(api, loaded, time).findings
        found[time] = api.minimum()
    assert found == floors
    assert api.record() is None, "nothing is left behind"


@pytest.mark.parametrize(
    ("platform", "events", "words"),
    [
        pytest.param(
            None,
            calendar("name: a, start: '30 6 * * 1-5', end: '10 22 * * *', SERVICES"),
            ["events[0].start: got '30 6 * * 1-5'", "events[0].end: got '10 22 * * *'"],
            id="https://github.com/kedacore/keda/issues/4677 - start and end are instants, no two schedules",
        ),
        pytest.param(
            None,
            calendar(event("a", "2026-03-08 02:30", "2026-11-01 01:30"), timezone=NEW_YORK),
            ["expected a time that exists in America/New_York", "2026-11-01 01:30-04:00 for the first"],
            id="https://github.com/taichino/croniter/issues/90 - libraries disagree near DST, so a person says it",
        ),
        pytest.param(
            swap("max: 16}", "max: 5}"),
            calendar(SALE),
            ["events[0].services.support-bot: got a floor of 7"],
            id="https://github.com/kedacore/keda/issues/5288 - a minimum above the maximum",
        ),
        pytest.param(
            all_of(
                swap("[g6e.2xlarge]", "[p5.48xlarge]"),
                swap("max_nodes: 18", "max_nodes: 2"),
                swap("max: 16}", "max: 20}"),
            ),
            None,
            ["replicas.max: got 20, expected at most 16 (node pool l40s: 2 nodes, p5.48xlarge has 8)"],
            id="https://github.com/aws/karpenter-provider-aws/issues/6328 - 20 replicas of one GPU on two nodes of 8",
        ),
        pytest.param(
            all_of(
                swap("[g6e.2xlarge]", "[p5.48xlarge]"),
                swap("max_nodes: 18", "max_nodes: 2"),
                swap("    gpus_per_replica: 1", "    gpus_per_replica: 3"),
            ),
            None,
            ["gpus_per_replica: got 3, expected 1, 2, 4 or 8"],
            id="https://github.com/aws/karpenter-provider-aws/issues/8068 - only whole replicas fit on a node",
        ),
        pytest.param(
            swap("replicas: {min: 2", 'rollout: {surge: "25%"}\n    replicas: {min: 2'),
            None,
            ["rollout.surge: got '25%'"],
            id="https://github.com/defilantech/LLMKube/issues/192 - a percentage of GPUs rounds to more, or to none",
        ),
        pytest.param(
            swap("in_flight_per_replica: 40", "in_flight_per_replica: 64"),
            None,
            ["in_flight_per_replica: got 64, expected below engine.max_num_seqs (64)"],
            id="https://github.com/defilantech/LLMKube/pull/483 - a target the engine can never pass",
        ),
        *(
            pytest.param(
                None,
                calendar(SALE.replace("SERVICES", f"services: {{support-bot: {{rps: {value}}}}}")),
                ["services.support-bot.rps: got"],
                id=f"https://github.com/kedacore/keda/issues/7475 - {value} is no load",
            )
            for value in (".nan", "NaN", "+.inf", "Infinity", "-9223372036854776")
        ),
    ],
)
def test_refused(tmp_path: Path, platform: Edit | None, events: Edit | None, words: Sequence[str]) -> None:
    with pytest.raises(InputError) as raised:
        timetable(stack(tmp_path, platform=platform, events=events))
    text = str(raised.value)
    assert [word for word in words if word not in text] == []
    assert len(raised.value.faults) == len(words)


class TestStaysOrComesBack:
    """The sale of 20:00 with 7 replicas, raised at 19:30."""

    @pytest.fixture
    def sale(self, tmp_path: Path) -> Stack:
        return stack(tmp_path, events=calendar(SALE))

    def test_the_second_run_does_not_take_the_raised_value_for_the_original(self, sale: Stack) -> None:
        """https://github.com/hjacobs/kube-downscaler/issues/44."""
        api = ApiDouble(scaled_object(minimum=2))
        run(api, sale, "2027-10-29 19:30")
        run(api, sale, "2027-10-29 19:35")
        assert (api.minimum(), len(api.patches)) == (7, 1)
        run(api, sale, "2027-10-30 00:30")
        assert (api.minimum(), api.record()) == (2, None)

    def test_an_annotation_that_is_there_already_is_no_reason_to_skip(self, sale: Stack) -> None:
        """https://github.com/caas-team/py-kube-downscaler/pull/41."""
        api = ApiDouble(scaled_object(annotations={ownership.FLOOR_ANNOTATION: "3"}))
        assert "cannot be read" in run(api, sale, "2027-10-29 19:30").findings[0]
        assert api.minimum() == 7

    def test_a_missed_run_is_made_up_for_until_the_end_and_not_after(self, sale: Stack) -> None:
        """https://github.com/kubernetes/kubernetes/issues/42649."""
        for time, floor in (("2027-10-29 19:52", 7), ("2027-10-30 00:31", 2)):
            api = ApiDouble(scaled_object())
            run(api, sale, time)
            assert api.minimum() == floor

    def test_a_revert_by_gitops_is_a_finding_and_raised_again(self, sale: Stack) -> None:
        """https://github.com/argoproj/argo-cd/issues/8207, https://github.com/kedacore/keda/issues/5572."""
        api = ApiDouble(scaled_object())
        original = api._patch

        def self_healed(*args: Any) -> Any:
            answer = original(*args)
            api.person("support-bot", 2)
            return answer

        api._patch = self_healed  # type: ignore[assignment, method-assign]
        assert "the floor is not in force: HPA keda-hpa-support-bot has minReplicas 2, not 7" in str(
            run(api, sale, "2027-10-29 19:30").findings
        )
        api._patch = original  # type: ignore[method-assign]
        assert run(api, sale, "2027-10-29 19:35").notes == ("somebody lowered 7 to 2; raised again",)
        assert api.minimum() == 7

    def test_idle_is_held_off_for_the_window_and_comes_back(self, sale: Stack) -> None:
        """https://github.com/kedacore/keda/issues/4995: it undercuts any floor while nothing is active."""
        api = ApiDouble(scaled_object(minimum=2, idle=0))
        assert "idleReplicaCount 0" in run(api, sale, "2027-10-29 19:30").findings[0]
        held = api.objects["support-bot"]
        assert held["metadata"]["annotations"][ownership.FORCE_ACTIVATION] == "true"
        run(api, sale, "2027-10-30 00:30")
        after = api.objects["support-bot"]
        counts = {key: value for key, value in after["spec"].items() if key.endswith("Count")}
        assert counts == {"minReplicaCount": 2, "maxReplicaCount": 16, "idleReplicaCount": 0}
        assert after["metadata"]["annotations"] == {ownership.BASELINE_ANNOTATION: "2"}

    @pytest.mark.parametrize(
        ("annotation", "value", "word"),
        [
            ("paused-replicas", "7", "KEDA is paused"),
            ("paused", "true", "KEDA is paused"),
            ("paused", "", "KEDA is paused"),
            ("paused-scale-out", "true", "scaling out is paused"),
        ],
    )
    def test_paused_is_a_finding(self, sale: Stack, annotation: str, value: str, word: str) -> None:
        """https://github.com/kedacore/keda/issues/4044, 7231, 7663, 6982."""
        annotations = {f"autoscaling.keda.sh/{annotation}": value}
        assert word in run(ApiDouble(scaled_object(annotations=annotations)), sale, "2027-10-29 19:30").findings[0]
        assert not run(ApiDouble(scaled_object(annotations=annotations)), sale, "2027-10-29 19:29").findings

    @pytest.mark.parametrize(
        "annotations",
        [{"autoscaling.keda.sh/paused-scale-out": "false"}, {"autoscaling.keda.sh/paused-scale-in": "true"}],
        ids=str,
    )
    def test_what_does_not_stand_in_the_way_is_none(self, sale: Stack, annotations: dict[str, str]) -> None:
        assert not run(ApiDouble(scaled_object(annotations=annotations)), sale, "2027-10-29 19:30").findings

    def test_a_minimum_above_the_live_maximum(self, sale: Stack) -> None:
        """https://github.com/kedacore/keda/issues/5288, https://github.com/kedacore/keda/pull/7562."""
        api = ApiDouble(scaled_object(minimum=2, maximum=5))
        assert "above the live ceiling of 5" in run(api, sale, "2027-10-29 19:30").findings[0]
        assert (api.minimum(), api.patches) == (2, [])

    def test_a_persons_minimum_above_the_maximum(self, sale: Stack) -> None:
        """https://github.com/kedacore/keda/issues/5288: 50 of at most 10, made while no webhook was looking."""
        api = ApiDouble(scaled_object(minimum=50, maximum=10, owner=("kubectl-patch", "Update")))
        outcome = run(api, sale, "2027-10-29 10:00")
        assert "KEDA takes no floor over. Set it to 10 or less" in outcome.findings[0]
        assert (outcome.notes, api.patches) == ((), [])

    def test_a_gap_shorter_than_the_lead_time_is_no_gap(self, tmp_path: Path) -> None:
        next_one = event("next", "2027-10-29 20:20", "2027-10-29 21:00", 5)
        loaded = stack(tmp_path, events=calendar(event("first", "2027-10-29 19:00", "2027-10-29 20:00"), next_one))
        api = ApiDouble(scaled_object())
        floors = []
        for time in ("2027-10-29 19:59", "2027-10-29 20:00", "2027-10-29 20:19", "2027-10-29 21:00"):
            run(api, loaded, time)
            floors.append(api.minimum())
        assert floors == [7, 5, 5, 2]


def test_a_floor_knows_no_tolerance(tmp_path: Path) -> None:
    """https://github.com/kedacore/keda/issues/5263, 6709, 7398, zalando-incubator/kube-metrics-adapter 374, 782.

    An HPA stays at 57 of a desired 60 (60 / 57 is within its 10 %).
    """
    big = event("sale", "2027-10-29 20:00", "2027-10-29 22:00", 60)
    loaded = stack(tmp_path, platform=SIXTY, events=calendar(big))
    api = ApiDouble(scaled_object(minimum=57, maximum=60))
    assert run(api, loaded, "2027-10-29 19:30").target == 60
    assert api.minimum() == 60
    now = Instant.from_utc(2027, 10, 29, 14, 20)
    for ready, missing in ((57, ("57 of 60 Ready",)), (60, ())):
        sighting = Sighting(
            "local",
            "here",
            [seen(api.objects[n]) for n in api.objects],
            api.minimums,
            pod_states([pod(f"p{n}") for n in range(ready)]),
        )
        (warmth,) = look(timetable(loaded), loaded.platform.services, sighting, lambda _: {}, at=now, now=now)
        assert (warmth.floor, warmth.missing) == (60, missing)


def test_an_image_on_the_node_is_not_warm(tmp_path: Path) -> None:
    """https://github.com/aws-samples/bottlerocket-images-cache/issues/13: image present, and ten minutes to start."""
    loaded = stack(tmp_path, events=calendar(SALE))
    now = moment("2027-10-29 19:58", KOLKATA)
    running = [pod(f"p{n}", ready=False) for n in range(7)]
    sighting = Sighting(
        "local", "here", [seen(scaled_object(minimum=7))], {"keda-hpa-support-bot": 7}, pod_states(running)
    )
    (warmth,) = look(timetable(loaded), loaded.platform.services, sighting, lambda _: {}, at=now, now=now)
    assert warmth.missing == ("0 of 7 Ready",)


@pytest.mark.parametrize(
    ("zone", "text", "words"),
    [
        (NEW_YORK, "2026-11-01 01:30", "write 2026-11-01 01:30-04:00 or 2026-11-01 01:30-05:00"),
        ("Europe/Berlin", "2026-10-25 02:30", "write 2026-10-25 02:30+02:00 or 2026-10-25 02:30+01:00"),
        (NEW_YORK, "2026-03-08 02:30", "does not exist in America/New_York"),
    ],
)
def test_a_typed_time_near_a_clock_change(zone: str, text: str, words: str) -> None:
    """https://github.com/taichino/croniter/issues/90: the zone's own offsets are named."""
    with pytest.raises(ValueError, match=r"clocks|exists") as raised:
        moment(text, zone)
    assert words in str(raised.value)
