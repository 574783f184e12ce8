"""What one pod asks of its node, and what it is refused for: as admission makes a template into a pod.

Source: Kubernetes 1.34, component-helpers/resource/helpers.go (requests of a pod), plugin/pkg/admission/limitranger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction

import msgspec

from prescale.preflight.kinds.meta import Amounts
from prescale.preflight.kinds.pod import Container, PodSpec, Resources
from prescale.preflight.kinds.policy import LimitRange

NONE = Fraction(0)


def with_defaults(spec: PodSpec, ranges: Iterable[LimitRange]) -> PodSpec:
    """The pod of a template: what it does not request is its limit, or what a LimitRange gives."""
    containers = [one for item in ranges for one in item.spec.limits if one.type == "Container"]
    limits = {name: value for one in containers for name, value in one.default.items()}
    requests = {name: value for one in containers for name, value in one.default_request.items()}

    def of(container: Container) -> Container:
        given = container.resources
        asked = Resources(requests={**requests, **given.limits, **given.requests}, limits={**limits, **given.limits})
        return msgspec.structs.replace(container, resources=asked)

    return msgspec.structs.replace(
        spec,
        containers=tuple(of(one) for one in spec.containers),
        init_containers=tuple(of(one) for one in spec.init_containers),
    )


def requests(spec: PodSpec) -> Amounts:
    """What the scheduler reserves for the pod, and one of the node's pods."""
    asked = _together(spec, lambda container: {**container.resources.limits, **container.resources.requests})
    asked |= spec.resources.requests
    for name, value in spec.overhead.items():
        asked[name] = asked.get(name, NONE) + value
    return {**{name: value for name, value in asked.items() if value}, "pods": Fraction(1)}


def limits(spec: PodSpec) -> Amounts:
    """What the pod may use at most, of what is limited at all."""
    return {**_together(spec, lambda container: container.resources.limits), **spec.resources.limits}


def _together(spec: PodSpec, of: Callable[[Container], Amounts]) -> Amounts:
    """Containers and sidecars at once, or one init container beside the sidecars begun before it: whichever is more."""
    running: Amounts = {}
    most: Amounts = {}
    for container in spec.init_containers:
        if container.restart_policy == "Always":
            running = _sum(running, of(container))
            most = _most(most, running)
        else:
            most = _most(most, _sum(running, of(container)))
    for container in spec.containers:
        running = _sum(running, of(container))
    return _most(most, running)


def _sum(one: Mapping[str, Fraction], other: Mapping[str, Fraction]) -> Amounts:
    return {name: one.get(name, NONE) + other.get(name, NONE) for name in {**one, **other}}


def _most(one: Mapping[str, Fraction], other: Mapping[str, Fraction]) -> Amounts:
    return {name: max(one.get(name, NONE), other.get(name, NONE)) for name in {**one, **other}}
