"""`warmline prescale adopt`: what it writes, what it refuses, and that nothing of ours is left after --undo."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result

from cli.main import warmline
from prescale import sync as syncing
from prescale.api import cluster as clustering
from prescale.permissions import CAPABILITIES
from stacks import ownership
from tests.cli.stack_folder import edit
from tests.core.api_double import ApiDouble
from tests.core.cluster_double import deployment, foreign, patched, scaled_object
from tests.core.test_permissions import allowed, asked

HPA, SCALED_OBJECT = "HorizontalPodAutoscaler", "ScaledObject"
KINDS = [HPA, SCALED_OBJECT]
NOW = ("now", "support-bot", "--floor", "9", "--for", "2h", "--reason", "x")


class Play:
    """support-bot is adopted, by the name vllm; an object of `kind` is there as a chart left it."""

    def __init__(self, stacks: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
        self.stacks = stacks
        self.file = stacks / "platform.yaml"
        self.entry = f"    adopted: {{kind: {kind}, name: vllm, pod_labels: {{app: vllm}}}}\n"
        self.file.write_text(self.file.read_text().rstrip("\n") + "\n" + self.entry)
        self.api = ApiDouble()
        self.api.deployments = [deployment()]
        self.monkeypatch = monkeypatch
        self.put(foreign(kind))
        monkeypatch.setattr(clustering.Cluster, "of", lambda *_: self.api.cluster())
        monkeypatch.setattr(syncing, "IN_FORCE_WITHIN_S", 0.02)

    def put(self, item: dict[str, Any]) -> None:
        objects = self.api.hpas if item["kind"] == HPA else self.api.objects
        objects[item["metadata"]["name"]] = item
        self.api._reconcile()

    @property
    def it(self) -> dict[str, Any]:
        return self.api.hpas.get("vllm") or self.api.objects["vllm"]

    @property
    def minimum(self) -> int:
        spec = self.it["spec"]
        value: int = spec.get("minReplicas", spec.get("minReplicaCount"))
        return value

    def run(self, *arguments: str, code: int | None = None) -> Result:
        result = CliRunner().invoke(warmline, ["prescale", *arguments, "-s", "local"])
        assert "Traceback" not in result.output
        assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
        assert code is None or result.exit_code == code, result.output
        return result

    def adopt(self, *options: str, target: str = "serving/vllm", code: int = 0) -> Result:
        return self.run("adopt", target, *options, code=code)

    def the_sale_is_on(self) -> None:
        """It began long ago, and a sync says with 1 that nothing of it is Ready."""
        edit(self.stacks / "events.yaml", "2027-10-29 20:00", "2020-10-29 20:00")
        edit(self.stacks / "events.yaml", "2027-10-30 00:30", "2190-10-30 00:30")


@pytest.fixture(params=KINDS)
def play(request: pytest.FixtureRequest, stacks: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    return Play(stacks, monkeypatch, request.param)


@pytest.fixture
def hpa(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    return Play(stacks, monkeypatch, HPA)


@pytest.fixture
def keda(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> Play:
    return Play(stacks, monkeypatch, SCALED_OBJECT)


class TestTaken:
    def test_it_gets_labels_and_baseline_and_nothing_else(self, play: Play) -> None:
        before = copy.deepcopy(play.it)
        result = play.adopt("--baseline", "2")
        first, shown, note = result.stdout.splitlines()
        assert first == f"support-bot: {play.it['kind']} vllm is adopted"
        assert note == "  the next `warmline prescale sync -s local` makes its floor true"
        ((_, patch, manager),) = play.api.patches
        assert manager == ownership.FIELD_MANAGER
        assert json.loads(shown)["metadata"].pop("resourceVersion") == "1"
        assert patch["metadata"]["labels"] == {
            ownership.STACK_LABEL: "local",
            ownership.SERVICE_LABEL: "support-bot",
        }
        by = patch["metadata"]["annotations"].pop(ownership.ADOPTED_ANNOTATION)
        assert "@" in by
        assert patch["metadata"]["annotations"] == {ownership.BASELINE_ANNOTATION: "2"}
        assert (play.it["spec"], {*patch}) == (before["spec"], {"metadata"})

    def test_twice_is_once_and_another_baseline_is_taken_over(self, play: Play) -> None:
        play.adopt()
        again = play.adopt()
        assert again.stdout == f"support-bot: {play.it['kind']} vllm is adopted already\n"
        assert len(play.api.patches) == 1
        edit(play.file, "min: 2, max: 16", "min: 3, max: 16")
        assert "the next `warmline prescale sync -s local` raises it to 3" in play.adopt().stdout
        (_, patch, _) = play.api.patches[-1]
        assert patch["metadata"]["annotations"] == {ownership.BASELINE_ANNOTATION: "3"}
        play.run("sync", code=0)
        assert play.minimum == 3

    def test_dry_run_shows_the_patch_and_writes_nothing(self, play: Play) -> None:
        result = play.adopt("--dry-run")
        assert f"support-bot: {play.it['kind']} vllm would be adopted\n" in result.stdout
        assert '"warmline.dev/baseline": "2"' in result.stdout
        assert {request.method for request in play.api.requests} == {"GET"}

    def test_as_data(self, play: Play) -> None:
        found = json.loads(play.adopt("-o", "json").stdout)
        assert found["object"] == {"kind": play.it["kind"], "namespace": "serving", "name": "vllm"}
        assert (found["adopted"], found["service"], found["findings"]) == (True, "support-bot", [])
        assert yaml.safe_load(play.adopt("-o", "yaml").stdout)["patch"] is None

    def test_events_orders_and_status_are_its_own_from_then_on(self, play: Play) -> None:
        play.adopt()
        play.the_sale_is_on()
        field = "minReplicas" if play.it["kind"] == HPA else "minReplicaCount"
        assert f"support-bot: {field} 2 -> 7 (diwali-sale); in force on the HPA" in play.run("sync", code=1).stdout
        assert play.run(*NOW, code=0)
        assert play.minimum == 9
        status = play.run("status", code=1).stdout
        assert "HPA minReplicas 9, 0 Ready" in status
        assert "not adopted" not in status

    def test_a_write_in_between_is_judged_anew(self, play: Play) -> None:
        objects = play.api.hpas if play.it["kind"] == HPA else play.api.objects
        play.api.before_patch = [
            lambda: objects.update(vllm=patched(play.it, {"metadata": {"labels": {"chart": "2"}}}, "helm"))
        ]
        play.adopt()
        assert play.it["metadata"]["labels"]["chart"] == "2"
        play.api.before_patch = [objects.clear]
        edit(play.file, "min: 2, max: 16", "min: 3, max: 16")
        assert f"there is no {play.entry.split()[2].rstrip(',')} vllm" in play.adopt(code=1).stdout

    def test_its_pods_are_counted_by_the_labels_that_were_said(self, play: Play) -> None:
        play.adopt()
        name = {"name": "vllm-1", "creationTimestamp": "2027-01-01T00:00:00Z", "labels": {"app": "vllm"}}
        ready = {"conditions": [{"type": "Ready", "status": "True"}], "podIP": "127.0.0.1", "phase": "Running"}
        other = {**name, "name": "other", "labels": {"app": "other"}}
        play.api.pods = [{"metadata": one, "status": ready, "spec": {}} for one in (name, other)]
        from prescale import asking

        play.monkeypatch.setattr(asking, "asker", lambda *_: lambda _pods: {})
        found = json.loads(play.run("status", "-o", "json", code=1).stdout)
        assert found["services"][0]["ready"] == 1


def bend(part: str, **fields: Any) -> Callable[[Play], None]:
    return lambda play: play.it.setdefault(part, {}).update(fields)


def labelled(stack: str, service: str = "support-bot", **annotations: str) -> Callable[[Play], None]:
    labels = {ownership.STACK_LABEL: stack, ownership.SERVICE_LABEL: service}
    return bend("metadata", labels=labels, annotations=annotations)


def beside(item: dict[str, Any], target: str = "vllm") -> Callable[[Play], None]:
    item["spec"]["scaleTargetRef"] = {"name": target}
    return lambda play: play.put(copy.deepcopy(item))


def others_pods(play: Play) -> None:
    play.api.deployments = [deployment(app="vllm", release="blue")]


BY = {ownership.ADOPTED_ANNOTATION: "alice@laptop"}
REFUSED = [
    (labelled("prod"), "is stack prod's. Let it go there first: `warmline prescale adopt --undo`."),
    (labelled("local"), "is in stack local already: Pulumi made it. Take `adopted` out of services.support-bot."),
    (labelled("local", "fraud-bot", **BY), "is adopted for service fraud-bot. Let it go first"),
    (beside(scaled_object(), "else"), "ScaledObject support-bot holds the floor of service support-bot already."),
    (beside(foreign(name="weekend")), "ScaledObject weekend scales Deployment vllm as well"),
    (
        beside(foreign(HPA, name="weekend")),
        "HPA weekend scales Deployment vllm as well: each undoes what the other does",
    ),
    (bend("spec", maxReplicas=1, maxReplicaCount=1), "the baseline of 2 is above its max"),
    (others_pods, "adopted.pod_labels does not mean the pods of Deployment vllm. Write {app: vllm, release: blue}."),
]


class TestRefused:
    @pytest.mark.parametrize(("spoil", "said"), REFUSED, ids=[said for _, said in REFUSED])
    def test_what_would_be_wrong_from_the_first_run_on(
        self, play: Play, spoil: Callable[[Play], None], said: str
    ) -> None:
        spoil(play)
        result = play.adopt(code=1)
        first, finding = result.stdout.splitlines()
        assert first == f"support-bot: {play.it['kind']} vllm: nothing was changed"
        assert said in finding
        assert play.api.patches == []

    def test_all_of_it_at_once(self, hpa: Play) -> None:
        for spoil in (bend("spec", maxReplicas=1), others_pods, beside(foreign(name="weekend"))):
            spoil(hpa)
        assert hpa.adopt(code=1).stdout.count("\n! ") == 3

    @pytest.mark.parametrize("how", ["owner", "label"])
    def test_an_hpa_that_keda_made_names_its_scaled_object(self, hpa: Play, how: str) -> None:
        owned = {"ownerReferences": [{"kind": "ScaledObject", "name": "sold"}]}
        hpa.it["metadata"] |= owned if how == "owner" else {"labels": {ownership.SCALED_OBJECT_LABEL: "sold"}}
        result = hpa.adopt(code=1)
        assert "! HPA vllm is made by KEDA from ScaledObject sold, which rewrites it. Adopt that one: " in result.stdout
        assert "services.support-bot.adopted: {kind: ScaledObject, name: sold, ...}." in result.stdout
        assert hpa.api.patches == []

    def test_kedas_hpa_of_an_object_that_pulumi_made_is_in_the_stack_already(self, hpa: Play) -> None:
        hpa.put(scaled_object(name="sold"))
        hpa.it["metadata"]["ownerReferences"] = [{"kind": "ScaledObject", "name": "sold"}]
        assert "That one is in stack local already." in hpa.adopt(code=1).stdout

    def test_what_is_not_there_names_what_is_near(self, play: Play) -> None:
        play.file.write_text(play.file.read_text().replace("name: vllm,", "name: vlm,"))
        result = play.adopt(target="serving/vlm", code=1)
        assert "there is no" in result.stdout
        assert (
            "Near it: vllm. Correct services.support-bot.adopted in platform.yaml, or cluster.context." in result.stdout
        )

    def test_a_role_that_may_not_patch(self, play: Play) -> None:
        import httpx2

        said = httpx2.Response(403, json={"kind": "Status", "code": 403, "message": "forbidden"})
        play.api._patch = play.api._patch_hpa = lambda *_: said  # type: ignore[method-assign]
        assert "the patch was refused: forbidden. Give the user a Role that may patch" in play.adopt(code=1).stdout


class TestTold:
    """Taken all the same; a person has to mend it before an event."""

    @pytest.mark.parametrize(
        ("spoil", "said"),
        [
            (bend("metadata", annotations={ownership.PAUSED: "true"}), "KEDA is paused"),
            (bend("metadata", annotations={ownership.PAUSED_SCALE_OUT: "true"}), "scaling out is paused"),
            (bend("spec", idleReplicaCount=0), "idleReplicaCount 0 undercuts the floor"),
        ],
    )
    def test_of_keda(self, keda: Play, spoil: Callable[[Play], None], said: str) -> None:
        spoil(keda)
        result = keda.adopt(code=1)
        assert f"\n! {said}" in result.stdout
        assert "vllm is adopted" in result.stdout
        assert len(keda.api.patches) == 1
        assert f"\n! {said}" in keda.adopt(code=1).stdout, "until it is mended"

    @pytest.mark.parametrize("manager", ["argocd-controller", "kustomize-controller", "helm-controller"])
    def test_a_tool_that_applies_the_floor(self, play: Play, manager: str) -> None:
        play.it["metadata"]["managedFields"][0]["manager"] = manager
        result = play.adopt(code=1)
        field = "minReplicas" if play.it["kind"] == HPA else "minReplicaCount"
        assert f"! owner of {field}: {manager}" in result.stdout
        assert f"Take spec.{field} out of what it applies" in result.stdout
        assert (f"jsonPointers [/spec/{field}]" in result.stdout) == manager.startswith("argocd")

    def test_what_argo_cd_tracks(self, play: Play) -> None:
        play.it["metadata"]["managedFields"] = []
        play.it["metadata"]["annotations"] = {"argocd.argoproj.io/tracking-id": "models:apps/Deployment:serving/vllm"}
        assert "! Argo CD's Application models heals what differs from its repository." in play.adopt(code=1).stdout

    def test_a_mark_of_argo_cds_that_names_no_application_is_a_note(self, play: Play) -> None:
        """A chart may bring one along where there is no Argo CD at all."""
        play.it["metadata"]["managedFields"] = []
        play.it["metadata"]["annotations"] = {"argocd.argoproj.io/sync-wave": "3"}
        said = play.adopt().stdout
        assert "  it has a mark of Argo CD's and no Application's name: see that none heals it. Take spec.min" in said
        assert "None" not in said

    def test_what_kubectl_applied(self, play: Play) -> None:
        play.it["metadata"]["managedFields"] = []
        kept = json.dumps({"spec": {"minReplicas": 2, "minReplicaCount": 2}})
        play.it["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": kept}
        assert "the next apply puts it back" in play.adopt(code=1).stdout

    def test_a_controller_that_made_it(self, play: Play) -> None:
        play.it["metadata"]["ownerReferences"] = [{"kind": "InferenceService", "name": "chat"}]
        assert "is made by InferenceService chat, whose controller may write it anew." in play.adopt(code=1).stdout

    def test_a_live_ceiling_below_the_one_that_plan_knows(self, play: Play) -> None:
        bend("spec", maxReplicas=12, maxReplicaCount=12)(play)
        assert "is 12, platform.yaml says 16: sync would refuse what plan allows." in play.adopt(code=1).stdout

    def test_a_number_above_the_baseline_is_kept_for_a_while(self, play: Play) -> None:
        bend("spec", **{next(key for key in play.it["spec"] if key.startswith("min")): 5})(play)
        assert "of 5 is above the baseline and counts as a person's: it is kept for 4 h" in play.adopt().stdout

    def test_an_hpa_at_rest(self, hpa: Play) -> None:
        resting = [{"type": "ScalingActive", "status": "False", "reason": "ScalingDisabled"}]
        hpa.it["status"] = {"currentReplicas": 0, "conditions": resting}
        assert "! its target has 0 replicas, so HPA vllm rests" in hpa.adopt(code=1).stdout

    def test_pods_that_could_not_be_checked(self, play: Play) -> None:
        play.api.deployments = []
        assert (
            "there is no Deployment vllm yet: whether pod_labels mean its pods was not checked" in play.adopt().stdout
        )
        play.it["spec"]["scaleTargetRef"] = {"kind": "StatefulSet", "name": "vllm"}
        assert "it scales StatefulSet vllm: whether pod_labels" in play.adopt().stdout


class TestUndo:
    def test_nothing_of_ours_is_left(self, play: Play) -> None:
        before = copy.deepcopy(play.it)
        play.adopt()
        play.the_sale_is_on()
        play.run("sync", code=1)
        play.run("cancel", "diwali-sale", "--reason", "x", code=0)
        result = play.adopt("--undo")
        assert result.stdout.startswith(f"support-bot: {play.it['kind']} vllm is let go\n")
        metadata = play.it["metadata"]
        assert (metadata.get("labels"), metadata.get("annotations")) == ({}, {})
        assert play.it["spec"] == before["spec"]
        again = play.adopt("--undo")
        assert f"{play.it['kind']} vllm is let go already" in again.stdout
        assert "there is nothing to let go" in again.stdout

    def test_at_its_baseline_whatever_it_was(self, play: Play) -> None:
        play.adopt()
        play.run(*NOW, code=0)
        assert "! now-support-bot-" in play.adopt("--undo", code=1).stdout
        assert play.minimum == 9
        play.run("release", "support-bot", code=0)
        play.api.patches.clear()
        bend("spec", **{next(key for key in play.it["spec"] if key.startswith("min")): 6})(play)
        play.adopt("--undo")
        assert (play.minimum, len(play.api.patches)) == (2, 1), "one patch: a crash leaves either state"

    def test_not_while_an_event_holds_its_floor(self, play: Play) -> None:
        play.adopt()
        play.the_sale_is_on()
        play.run("sync", code=1)
        result = play.adopt("--undo", code=1)
        assert "! diwali-sale holds its floor: it was not let go. Wait for the end, or say" in result.stdout
        assert "`warmline prescale cancel diwali-sale --service support-bot -s local`" in result.stdout
        assert play.minimum == 7

    def test_also_of_what_the_file_names_no_more(self, play: Play) -> None:
        play.adopt()
        edit(play.file, play.entry, "")
        play.adopt("--undo")
        assert play.it["metadata"]["labels"] == {}

    def test_what_pulumi_made_is_not_let_go(self, keda: Play) -> None:
        keda.put(scaled_object())
        result = keda.adopt("--undo", target="serving/support-bot", code=1)
        assert "! ScaledObject support-bot is Pulumi's, and not adopted." in result.stdout
        assert keda.api.patches == []

    def test_dry_run(self, play: Play) -> None:
        play.adopt()
        play.api.patches.clear()
        assert "vllm would be let go\n" in play.adopt("--undo", "--dry-run").stdout
        assert play.api.patches == []

    def test_release_all_lets_go_too(self, play: Play) -> None:
        play.adopt()
        play.run(*NOW, code=0)
        result = play.run("release", "--all", code=0)
        assert "vllm is adopted no more; `warmline prescale adopt` takes it again" in result.stdout
        metadata = play.it["metadata"]
        assert (play.minimum, metadata["labels"], metadata["annotations"]) == (2, {}, {})
        assert "Run `warmline prescale adopt NAMESPACE/vllm -s local`." in play.run("sync", code=1).stdout


class TestWords:
    @pytest.mark.parametrize(
        ("target", "options", "said"),
        [
            ("vllm", (), "a namespace and a name. Write serving/vllm."),
            ("a/b/c", (), "a namespace and a name"),
            ("other/vllm", (), "expected serving, the namespace of stack local: its runs look nowhere else"),
            ("serving/else", (), "expected an object that a service adopts, not else. Add the service that it scales"),
            ("serving/vllm", ("--baseline", "3"), "services.support-bot.replicas.min: got --baseline 3, expected"),
            ("serving/vllm", ("--baseline", "2", "--undo"), "leave --baseline out"),
            ("serving/vllm", ("--baseline", "-1"), "--baseline"),
        ],
    )
    def test_that_mean_nothing(self, hpa: Play, target: str, options: tuple[str, ...], said: str) -> None:
        result = hpa.adopt(*options, target=target, code=2)
        assert said in " ".join(result.stderr.split())
        assert hpa.api.requests == []

    def test_every_fault_at_once(self, hpa: Play) -> None:
        result = hpa.adopt("--baseline", "3", target="other/vllm", code=2)
        assert len(result.stderr.splitlines()) == 2

    def test_out_of_reach(self, hpa: Play) -> None:
        import httpx2

        hpa.api.answers = [httpx2.ConnectError("refused")] * 3
        hpa.adopt(code=3)
        hpa.api.answers = [httpx2.Response(403, json={"kind": "Status", "code": 403, "message": "no"})]
        result = hpa.adopt(code=3)
        assert "Give the user the verb list on scaledobjects.keda.sh" in result.stderr

    def test_a_cluster_without_keda_has_hpas_all_the_same(self, hpa: Play) -> None:
        import httpx2

        hpa.api.answers = [httpx2.Response(404, text="404 page not found")]
        assert "vllm is adopted\n" in hpa.adopt().stdout


def test_who_takes_and_lets_go_may_do_that_and_nothing_more(stacks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = set()
    text = (stacks / "platform.yaml").read_text()
    for kind in KINDS:
        (stacks / "platform.yaml").write_text(text)
        play = Play(stacks, monkeypatch, kind)
        play.adopt()
        play.adopt("--undo")
        done |= {asked(request) for request in play.api.requests}
    assert [request for request in done if not allowed("adopt", *request)] == []
    table = {(rule.group, rule.resource, verb) for rule in CAPABILITIES["adopt"] for verb in rule.verbs}
    assert table == {(group, resource, verb) for group, resource, verb, _ in done}
