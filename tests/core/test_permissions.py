"""The table of permissions against what the commands really ask of the API server: no more, and no less."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx2
import pytest
from click.testing import CliRunner

from cli.main import warmline
from prescale import asking
from prescale import sync as syncing
from prescale.api import cluster as clustering
from prescale.permissions import CAPABILITIES
from stacks import runner
from stacks.ownership import orders_name, starts_name
from tests.cli.stack_folder import copied_stacks
from tests.core.api_double import OBJECTS, ApiDouble
from tests.core.cluster_double import scaled_object
from tests.core.start_cases import a_day_ago, pod

ORDERS, STARTS = orders_name("local"), starts_name("local")
VERBS = {"POST": "create", "PATCH": "patch", "DELETE": "delete"}


def asked(request: httpx2.Request) -> tuple[str, str, str, str | None]:
    """(group, resource, verb, name) as the API server's authorizer sees a request."""
    parts = request.url.path.strip("/").split("/")
    group = "" if parts[0] == "api" else parts[1]
    resource, *name = parts[parts.index("namespaces") + 2 :]
    verb = VERBS.get(request.method) or ("get" if name else "list")
    return group, resource, verb, name[0] if name else None


def allowed(capability: str, group: str, resource: str, verb: str, name: str | None) -> bool:
    names = {
        "scaled-objects": ("support-bot",),
        "adopted-hpas": (),
        "orders": (ORDERS,),
        "starts": (STARTS,),
        "findings": (),
    }
    of_a_runner = [rule for rules in runner.CAPABILITIES.values() for rule in rules]
    return any(
        (rule.group, rule.resource) == (group, resource)
        and verb in rule.verbs
        and (rule.of == "any" or name in names[rule.of])
        for rule in (of_a_runner if capability == "sync" else CAPABILITIES[capability])
    )


@pytest.fixture
def play(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., ApiDouble]:
    root = copied_stacks(tmp_path)
    monkeypatch.setenv("WARMLINE_STACKS_DIR", str(root))
    double = ApiDouble(scaled_object())
    monkeypatch.setattr(clustering.Cluster, "of", lambda *_: double.cluster())
    monkeypatch.setattr(syncing, "IN_FORCE_WITHIN_S", 0.02)
    monkeypatch.setattr(asking, "asker", lambda *_: lambda _pods: {})

    def run(*commands: tuple[str, ...]) -> ApiDouble:
        for command in commands:
            result = CliRunner().invoke(warmline, ["prescale", *command, "-s", "local"])
            assert result.exit_code in {0, 1}, result.output
        return double

    return run


NOW = ("now", "support-bot", "--floor", "5", "--for", "2h", "--reason", "x")
PLAYS: dict[str, list[tuple[str, ...]]] = {
    "sync": [("sync",)],
    "status": [("status",)],
    "orders": [
        NOW,
        ("hold", "support-bot", "--for", "1h", "--reason", "x"),
        ("cancel", "diwali-sale", "--reason", "x"),
        ("cancel", "diwali-sale", "--undo"),
        ("release", "support-bot"),
        ("release", "--all"),
    ],
}


@pytest.mark.parametrize("capability", PLAYS)
def test_a_capability_may_do_what_it_does_and_nothing_more(
    capability: str, play: Callable[..., ApiDouble], monkeypatch: pytest.MonkeyPatch
) -> None:
    if capability == "sync":  # so that it has something to do
        double = play(NOW)
        double.objects["support-bot"]["spec"]["minReplicaCount"] = 2
        double.requests.clear()
    double = with_a_write_in_between(play())
    if capability == "status":  # the first start that it sees makes the ConfigMap
        double.pods = [pod("support-bot-5c9-aaaaa", **a_day_ago())]
        play(("status",))
        double.pods += [pod("support-bot-5c9-bbbbb", **a_day_ago())]
    play(*PLAYS[capability])
    seen = {asked(request) for request in double.requests}
    assert [request for request in seen if not allowed(capability, *request)] == []
    if capability == "sync":
        return  # a runner counts pods and remembers findings besides: tests/components/test_runner.py
    done = {(group, resource, verb) for group, resource, verb, _ in seen}
    table = {(given.group, given.resource, verb) for given in CAPABILITIES[capability] for verb in given.verbs}
    # Pods are asked by another client; tests/sandbox has it on a real API server.
    assert table - done == ({("", "pods/proxy", "create")} if capability == "status" else set())


def with_a_write_in_between(double: ApiDouble) -> ApiDouble:
    """Then the object is read by itself, too."""
    double.before_patch = [lambda: double.person("support-bot", 3)]
    return double


def test_a_role_that_lacks_a_verb_is_found_by_this_test() -> None:
    request = httpx2.Request("DELETE", f"https://api.example:6443{OBJECTS}/support-bot")
    assert asked(request) == ("keda.sh", "scaledobjects", "delete", "support-bot")
    assert not any(allowed(capability, *asked(request)) for capability in PLAYS)


def test_the_orders_of_another_stack_are_nobodys_business() -> None:
    path = "/api/v1/namespaces/serving/configmaps/warmline-orders-prod"
    for method in ("GET", "PATCH", "DELETE"):
        request = httpx2.Request(method, f"https://api.example:6443{path}")
        assert not any(allowed(capability, *asked(request)) for capability in PLAYS)
