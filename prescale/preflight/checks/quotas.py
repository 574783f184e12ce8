"""What the namespace lets in: ResourceQuotas and LimitRanges. A pod that is refused is not even Pending.

Source: Kubernetes 1.34, pkg/quota/v1/evaluator/core/pods.go and plugin/pkg/admission/limitranger/admission.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from prescale.preflight.admitted import NONE, limits, requests
from prescale.preflight.finding import Found
from prescale.preflight.kinds.meta import Amounts
from prescale.preflight.kinds.pod import Container, PodSpec, Resources
from prescale.preflight.kinds.policy import Range, ResourceQuota, ScopeRequirement
from prescale.preflight.quantity import shown
from prescale.preflight.scene import Scene, Target, with_deployment
from prescale.preflight.seen import LIMIT_RANGES, QUOTAS

MUST_BE_SAID = {
    "cpu": ("requests", "cpu"),
    "memory": ("requests", "memory"),
    "requests.cpu": ("requests", "cpu"),
    "requests.memory": ("requests", "memory"),
    "limits.cpu": ("limits", "cpu"),
    "limits.memory": ("limits", "memory"),
}
"""Under a quota on one of these, every container has to say it."""

BARE = {"cpu", "memory", "ephemeral-storage"}
"""Resources whose requests a quota may name without `requests.`."""


def charge(spec: PodSpec) -> Amounts:
    """What one pod is charged, by the names that a quota has for it."""
    asked, most = requests(spec), limits(spec)
    found = {f"requests.{name}": value for name, value in asked.items() if name != "pods"}
    found |= {name: value for name, value in asked.items() if name in BARE}
    found |= {f"limits.{name}": value for name, value in most.items()}
    return {**found, "pods": Fraction(1), "count/pods": Fraction(1)}


def quota_of_the_floors(scene: Scene) -> Iterator[Found]:
    """All floors together against what each quota has left."""
    for quota in scene.seen.of(QUOTAS):
        charged: Amounts = {}
        services: dict[str, list[str]] = {}
        for target in with_deployment(scene):
            if not is_counted(quota, target.admitted):
                continue
            # What is on its way out is still charged, and will not be.
            more = max(0, target.floor + target.surge - len(target.pods))
            for name, value in charge(target.admitted).items():
                if name in quota.spec.hard and value * more:
                    charged[name] = charged.get(name, NONE) + value * more
                    services.setdefault(name, []).append(target.name)
        for name, value in charged.items():
            used, hard = quota.status.used.get(name, NONE), quota.spec.hard[name]
            if used + value > hard:
                yield Found(
                    what=f"ResourceQuota {quota.metadata.name}",
                    got=f"{name}: {shown(hard)}, of which {shown(used)} are used",
                    expected=f"{shown(used + value)} for the floors of {', '.join(services[name])}",
                    fix=f"Raise {name} to {shown(used + value)} or more.",
                    service=services[name][0] if len(services[name]) == 1 else "",
                )


def quota_needs_words(target: Target) -> Iterator[Found]:
    """A quota on CPU or memory refuses pods that do not say theirs."""
    for quota in target.seen.of(QUOTAS):
        if not is_counted(quota, target.admitted):
            continue
        for name in quota.spec.hard:
            if name not in MUST_BE_SAID:
                continue
            side, resource = MUST_BE_SAID[name]
            silent = [one.name for one in target.admitted.all_containers if resource not in _side(one, side)]
            if silent:
                yield Found(
                    what=f"ResourceQuota {quota.metadata.name}",
                    got=f"no {side}.{resource} in container {', '.join(silent)}",
                    expected=f"it in every container, since the quota counts {name}",
                    fix=f"Say it, give it by a LimitRange, or take {name} out of the quota: every new pod is refused.",
                )


def _side(container: Container, side: str) -> Amounts:
    return container.resources.requests if side == "requests" else container.resources.limits


def is_counted(quota: ResourceQuota, spec: PodSpec) -> bool:
    """Whether the quota's scopes mean such a pod: all of them must."""
    plain = [ScopeRequirement(scope_name=name, operator="Exists") for name in quota.spec.scopes]
    return all(_in_scope(one, spec) for one in (*plain, *quota.spec.scope_selector.match_expressions))


def _in_scope(scope: ScopeRequirement, spec: PodSpec) -> bool:
    name = spec.priority_class_name
    is_best_effort = not any(_says_cpu_or_memory(one.resources) for one in spec.all_containers)
    anti, near = spec.affinity.pod_anti_affinity, spec.affinity.pod_affinity
    terms = [
        *anti.required_during_scheduling_ignored_during_execution,
        *near.required_during_scheduling_ignored_during_execution,
    ]
    held = {
        "Terminating": spec.active_deadline_seconds is not None,
        "NotTerminating": spec.active_deadline_seconds is None,
        "BestEffort": is_best_effort,
        "NotBestEffort": not is_best_effort,
        "CrossNamespacePodAffinity": any(term.namespaces for term in terms),
    }
    if scope.scope_name != "PriorityClass":
        return held.get(scope.scope_name, True)
    by_operator = {
        "In": name in scope.values,
        "NotIn": name not in scope.values,
        "Exists": bool(name),
        "DoesNotExist": not name,
    }
    return by_operator.get(scope.operator, True)


def _says_cpu_or_memory(resources: Resources) -> bool:
    return any(side.get(name) for side in (resources.requests, resources.limits) for name in ("cpu", "memory"))


def limit_ranges(target: Target) -> Iterator[Found]:
    """What a LimitRange of the namespace would refuse the pod for."""
    for item in target.seen.of(LIMIT_RANGES):
        for one in item.spec.limits:
            for who, resources in _measured(one, target.admitted):
                for got, expected in _against(one, resources):
                    yield Found(
                        what=f"LimitRange {item.metadata.name}, {who}",
                        got=got,
                        expected=expected,
                        fix="Change the LimitRange or the template: every new pod is refused.",
                    )


def _measured(one: Range, spec: PodSpec) -> Iterator[tuple[str, Resources]]:
    if one.type == "Container":
        for container in spec.all_containers:
            yield f"container {container.name}", container.resources
    elif one.type == "Pod":
        yield "the pod", Resources(requests=requests(spec), limits=limits(spec))


def _against(one: Range, resources: Resources) -> Iterator[tuple[str, str]]:
    """(got, expected) of each rule that is broken."""
    asked, most = resources.requests, resources.limits
    yield from _outside(asked, most, one.min, "at least")
    yield from _outside(asked, most, one.max, "at most")
    yield from (
        (f"no request {name}", f"at least {shown(least)}") for name, least in one.min.items() if name not in asked
    )
    yield from ((f"no limit {name}", f"at most {shown(bound)}") for name, bound in one.max.items() if name not in most)
    for name, ratio in one.max_limit_request_ratio.items():
        request, limit = asked.get(name, NONE), most.get(name, NONE)
        if not request or not limit:
            yield f"no request or no limit {name}", f"a limit of at most {shown(ratio)} x the request"
        elif limit / request > ratio:
            yield f"limit {name} {shown(limit)} of request {shown(request)}", f"at most {shown(ratio)} x the request"


def _outside(asked: Amounts, most: Amounts, bounds: Amounts, side: str) -> Iterator[tuple[str, str]]:
    for name, bound in bounds.items():
        for what, amounts in (("request", asked), ("limit", most)):
            given = amounts.get(name)
            if given is not None and (given < bound if side == "at least" else given > bound):
                yield f"{what} {name} {shown(given)}", f"{side} {shown(bound)}"


def requests_above_limits(target: Target) -> Iterator[Found]:
    """A limit that a LimitRange gives by default may lie below what the container requests."""
    for container in target.admitted.all_containers:
        for name, request in container.resources.requests.items():
            limit = container.resources.limits.get(name)
            if limit is not None and request > limit:
                yield Found(
                    what=f"container {container.name}",
                    got=f"request {name} {shown(request)} above its limit {shown(limit)}",
                    expected="a limit that is not below the request",
                    fix="Set the limit in the template, or raise the LimitRange's default: every new pod is refused.",
                )
