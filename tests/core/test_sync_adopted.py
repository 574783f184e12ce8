"""A run over adopted targets: HPAs beside ScaledObjects, in no more calls than without them."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from msgspec import structs

from prescale.clock import Clock
from prescale.outcome import Outcome
from prescale.sync import Run, sync
from prescale.windows.window import Timetable
from stacks import ownership
from stacks.adopted import Adopted
from stacks.reach import OutOfReach
from tests.core.api_double import HPAS, OBJECTS, ApiDouble
from tests.core.cluster_double import BY, adopted_hpa, foreign, scaled_object
from tests.core.decision_cases import HERE, HOUR, at, window

pytestmark = pytest.mark.usefixtures("no_waiting")

HPA = Adopted(kind="HorizontalPodAutoscaler", name="vllm", pod_labels={"app": "vllm"})
SCALED_OBJECT = Adopted(kind="ScaledObject", name="vllm", pod_labels={"app": "vllm"})
BEFORE = -2 * HOUR


def run(
    api: ApiDouble, seconds: float = 0, adopted: Adopted | None = HPA, others: tuple[str, ...] = ()
) -> tuple[Outcome, ...]:
    """One run of support-bot, which is adopted, and of `others`, which are built."""
    api.clock = lambda: at(seconds)
    cluster = api.cluster()
    cluster.clock = Clock  # type: ignore[method-assign]
    table = Timetable(HERE, (window(), *(structs.replace(window(), service=name) for name in others)))
    services = ("support-bot", *others)
    known = {"support-bot": adopted} if adopted else {}
    return sync(Run("local", table, services, cluster, lambda: at(seconds), adopted=known))


def calls(api: ApiDouble) -> list[tuple[str, str]]:
    made = [(request.method, request.url.path.rpartition("/")[2]) for request in api.requests]
    api.requests.clear()
    return made


def test_raises_an_hpa_reads_it_back_and_lets_it_go() -> None:
    api = ApiDouble(adopted_hpa())
    (outcome,) = run(api)
    assert (outcome.was, outcome.target, outcome.findings) == (2, 7, ())
    assert outcome.observed
    assert (outcome.observed.kind, outcome.observed.name) == ("HorizontalPodAutoscaler", "vllm")
    assert (outcome.hpa_name, outcome.hpa_min) == ("vllm", 7)
    assert outcome.in_force_s is not None
    assert api.hpas["vllm"]["spec"]["minReplicas"] == 7
    assert [(name, manager) for name, _, manager in api.patches] == [("vllm", ownership.FIELD_MANAGER)]
    (outcome,) = run(api, 4 * HOUR)
    assert (outcome.target, api.hpas["vllm"]["spec"]["minReplicas"]) == (2, 2)
    assert ownership.FLOOR_ANNOTATION not in api.hpas["vllm"]["metadata"]["annotations"]


def test_a_scaled_object_of_others_has_a_name_of_its_own() -> None:
    notes = {ownership.BASELINE_ANNOTATION: "2", **BY}
    labels = {ownership.STACK_LABEL: "local", ownership.SERVICE_LABEL: "support-bot"}
    api = ApiDouble(foreign(labels=labels, annotations=notes))
    (outcome,) = run(api, adopted=SCALED_OBJECT)
    assert (outcome.service, outcome.target, outcome.findings) == ("support-bot", 7, ())
    assert outcome.observed
    assert outcome.observed.name == "vllm"
    api.keda_works = False
    api.minimums["keda-hpa-vllm"] = 2
    assert "`kubectl describe scaledobject vllm`" in run(api, 60, adopted=SCALED_OBJECT)[0].findings[0]


@pytest.mark.parametrize("services", [1, 500])
def test_with_nothing_to_do_three_calls_with_and_without_an_event(services: int) -> None:
    others = tuple(f"bot-{number}" for number in range(services))
    api = ApiDouble(*[scaled_object(name=name) for name in others], adopted_hpa())
    reads = [("GET", "scaledobjects"), ("GET", "horizontalpodautoscalers"), ("GET", "warmline-orders-local")]
    run(api, BEFORE, others=others)
    assert calls(api) == reads
    run(api, others=others)
    assert calls(api)[:3] == reads
    outcomes = run(api, 60, others=others)
    assert calls(api) == reads, "what the floors are verified by was read with them"
    assert all((one.patch, one.findings, one.hpa_min) == (None, (), 7) for one in outcomes)


def test_where_none_is_adopted_no_hpa_is_listed_for_it() -> None:
    api = ApiDouble(scaled_object(), adopted_hpa(service="fraud-bot"))
    run(api, BEFORE, adopted=None)
    assert ("GET", "horizontalpodautoscalers") not in calls(api)


def test_a_stack_of_plain_hpas_needs_no_keda() -> None:
    api = ApiDouble(adopted_hpa())
    run(api)
    assert not [request for request in api.requests if request.url.path.startswith(OBJECTS)]


def test_only_what_carries_the_stacks_label_is_touched() -> None:
    api = ApiDouble(foreign("HorizontalPodAutoscaler"))
    (outcome,) = run(api)
    assert api.patches == []
    (finding,) = outcome.findings
    assert "HorizontalPodAutoscaler vllm does not carry the labels of stack local in namespace serving" in finding
    assert "Run `warmline prescale adopt NAMESPACE/vllm -s local`." in finding


def test_not_adopted_yet_beside_others_is_a_note_until_an_event_asks_for_it() -> None:
    api = ApiDouble(scaled_object(name="fraud-bot"), foreign("HorizontalPodAutoscaler"))
    *_, outcome = run(api, BEFORE, others=("fraud-bot",))
    assert (outcome.findings, "adopt NAMESPACE/vllm" in outcome.notes[0]) == ((), True)
    *_, outcome = run(api, others=("fraud-bot",))
    assert outcome.findings[0].startswith("sale: HorizontalPodAutoscaler vllm does not carry")


def test_a_write_in_between_is_read_again_by_its_kind() -> None:
    api = ApiDouble(adopted_hpa())
    original = api.hpas["vllm"]

    def chart() -> None:
        api.hpas["vllm"] = original | {"metadata": original["metadata"] | {"resourceVersion": "5"}}

    api.before_patch = [chart]
    assert run(api)[0].target == 7
    assert ("GET", "vllm") in calls(api)
    api.before_patch = [api.hpas.clear]
    assert run(api, 4 * HOUR)[0].notes == ("it was deleted meanwhile",)


def test_what_is_put_back_at_once_is_a_finding() -> None:
    api = ApiDouble(adopted_hpa())
    original = api._patch_hpa

    def put_back(*arguments: Any) -> httpx2.Response:
        response = original(*arguments)
        api.hpas["vllm"]["spec"]["minReplicas"] = 2
        return response

    api._patch_hpa = put_back  # type: ignore[assignment, method-assign]
    (outcome,) = run(api)
    assert "the floor is not in force: HPA vllm has minReplicas 2, not 7." in outcome.findings[0]
    assert "`kubectl get hpa vllm -o yaml --show-managed-fields`" in outcome.findings[0]


def test_a_role_without_the_hpa_is_told() -> None:
    api = ApiDouble(adopted_hpa())
    refused = httpx2.Response(403, json={"kind": "Status", "code": 403, "message": "forbidden"})
    api._patch_hpa = lambda *_: refused  # type: ignore[method-assign]
    assert "Mend the HPA, or give the user a Role that may patch it" in run(api)[0].findings[0]


def test_an_hpa_of_another_shape_is_out_of_reach() -> None:
    api = ApiDouble(adopted_hpa())
    del api.hpas["vllm"]["spec"]["maxReplicas"]
    with pytest.raises(OutOfReach, match=r"not one of a Kubernetes API server .*maxReplicas"):
        run(api)
    assert HPAS in {request.url.path for request in api.requests}


def test_kedas_own_hpa_carries_our_labels_too_and_is_nobodys_target() -> None:
    """KEDA copies them from the ScaledObject, the mark of adoption as well."""
    notes = {ownership.BASELINE_ANNOTATION: "2", **BY}
    labels = {ownership.STACK_LABEL: "local", ownership.SERVICE_LABEL: "fraud-bot"}
    api = ApiDouble(foreign(name="fraud", labels=labels, annotations=notes), adopted_hpa())
    (fraud, vllm) = run(api, others=("fraud-bot",))
    assert [(one.observed.name, one.observed.kind) for one in (fraud, vllm) if one.observed] == [
        ("fraud", "ScaledObject"),
        ("vllm", "HorizontalPodAutoscaler"),
    ]
    assert [name for name, *_ in api.patches] == ["fraud", "vllm"]
