"""What the checks look at: the services with the floors asked of them, and the cluster as it was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from whenever import Instant

from prescale import absence
from prescale.clock import Clock
from prescale.decision import decide
from prescale.observed import Observed
from prescale.orders.order import Order, Orders
from prescale.preflight.admitted import with_defaults
from prescale.preflight.kinds.pod import Pod, PodSpec
from prescale.preflight.kinds.workload import Autoscaler, Deployment, ScaledObject, TargetRef
from prescale.preflight.moments import Moment
from prescale.preflight.reading import Reading
from prescale.preflight.seen import AUTOSCALERS, DEPLOYMENTS, LIMIT_RANGES, PODS, SCALED_OBJECTS, Seen
from prescale.preflight.selecting import selects
from prescale.windows.window import Timetable
from stacks.adopted import Adopted
from stacks.loader import Stack
from stacks.scaler import Kind
from stacks.spec import NodePool, Service


class NoTarget(Exception):  # noqa: N818 - it names the state
    """There is no Deployment, or no ScaledObject, to look at. To a check that looks at it there is nothing to say."""


@dataclass(frozen=True)
class Target:
    """One service, what scales it, and the `floor` asked of it. Reading it may raise `NotSeen`."""

    stack: str
    name: str
    service: Service
    pool: NodePool
    floor: int
    observed: Observed
    scaler: ScaledObject | Autoscaler
    seen: Seen

    @property
    def scaled_object(self) -> ScaledObject:
        """Raises `NoTarget` where an HPA that others made scales it: it has nothing of KEDA's."""
        if isinstance(self.scaler, ScaledObject):
            return self.scaler
        raise NoTarget(self.observed.name)

    @property
    def ref(self) -> TargetRef:
        """What is scaled."""
        return self.scaler.spec.scale_target_ref

    @property
    def builder_runs(self) -> str:
        """What makes it again what it should be."""
        if self.service.adopted:
            return "Have it made again by whoever made it"
        return f"Run `pulumi up -s {self.stack}`"

    @cached_property
    def deployment(self) -> Deployment:
        """Raises `NoTarget` where there is none of the name that is scaled."""
        ref = self.ref
        if ref.kind in {"", "Deployment"}:
            for item in self.seen.of(DEPLOYMENTS):
                if item.metadata.name == ref.name:
                    return item
        raise NoTarget(ref.name)

    @property
    def template(self) -> PodSpec:
        """As written."""
        return self.deployment.spec.template.spec

    @cached_property
    def admitted(self) -> PodSpec:
        """What a pod of the template becomes, as far as LimitRanges could be read."""
        return with_defaults(self.template, self.seen.as_far_as_shown(LIMIT_RANGES))

    @cached_property
    def pods(self) -> tuple[Pod, ...]:
        """Those the Deployment's selector means, on their way out or not."""
        space, selector = self.observed.namespace, self.deployment.spec.selector
        return tuple(
            pod
            for pod in self.seen.of(PODS)
            if pod.metadata.namespace == space and not pod.is_over and selects(selector, pod.metadata.labels)
        )

    @property
    def staying(self) -> tuple[Pod, ...]:
        return tuple(pod for pod in self.pods if not pod.is_leaving)

    @property
    def surge(self) -> int:
        """Pods beside the floor while a version is rolled out; 0 while none is."""
        if not is_rolling(self.deployment):
            return 0
        return share(self.deployment.spec.strategy.rolling_update.max_surge, self.floor)


def is_rolling(deployment: Deployment) -> bool:
    """Whether not all pods are of the last template yet."""
    status = deployment.status
    is_told = status.observed_generation >= deployment.metadata.generation
    return not is_told or status.updated_replicas < status.replicas


def share(value: int | str, whole: int) -> int:
    """A number of pods, or percent of `whole` rounded up, as surges and budgets are."""
    if isinstance(value, int):
        return value
    return -(-int(value.removesuffix("%")) * whole // 100)


@dataclass(frozen=True)
class Scene:
    """One moment. `absent` are services that nothing scales, `adopted` those that others built.

    `ordered` are the orders that hold a floor then. `has_keda` says that the cluster knows ScaledObjects,
    `is_on_keda` that the stack has floors for them to hold, too.
    """

    stack: str
    namespace: str
    where: str
    at: Instant
    now: Instant
    clock: Clock
    seen: Seen
    targets: tuple[Target, ...]
    absent: tuple[str, ...]
    pools: Mapping[str, NodePool]
    adopted: Mapping[str, Adopted]
    orders: Orders

    @property
    def has_keda(self) -> bool:
        return str(SCALED_OBJECTS) not in self.seen.unknown

    @property
    def is_on_keda(self) -> bool:
        names = (*self.absent, *(target.name for target in self.targets))
        return self.has_keda and any(absence.needs_keda(self.adopted.get(name)) for name in names)

    @property
    def ordered(self) -> tuple[Order, ...]:
        clock = Clock(self.at)
        return tuple(one for target in self.targets for one in self.orders.floors(target.name, clock))


def scene(stack: Stack, table: Timetable, reading: Reading, moment: Moment, now: Instant) -> Scene:
    """The floors of `moment` on what was read.

    A floor is what the calendar asks for, or what a run of sync would want then: it knows of events that vanished from
    the calendar, and of what was ordered in the cluster.

    Args:
        table: without what was called off.
    """
    platform = stack.platform
    seen = reading.seen
    scalers: dict[tuple[Kind, str], ScaledObject | Autoscaler] = {
        **{("ScaledObject", item.metadata.name): item for item in seen.as_far_as_shown(SCALED_OBJECTS)},
        **{("HorizontalPodAutoscaler", item.metadata.name): item for item in seen.as_far_as_shown(AUTOSCALERS)},
    }
    targets = []
    for observed in sorted(reading.observed, key=lambda one: one.service):
        service = platform.services.get(observed.service)
        if service is None:
            continue
        wanted = decide(observed, table.of(observed.service), table.calendar, Clock(moment.at), reading.orders).wanted
        targets.append(
            Target(
                stack=stack.name,
                name=observed.service,
                service=service,
                pool=platform.node_pools[service.node_pool],
                floor=max(moment.floors[observed.service], wanted),
                observed=observed,
                scaler=scalers[observed.kind, observed.name],
                seen=seen,
            )
        )
    there = {target.name for target in targets}
    return Scene(
        stack=stack.name,
        namespace=platform.namespace,
        where=reading.where,
        at=moment.at,
        now=now,
        clock=reading.clock,
        seen=seen,
        targets=tuple(targets),
        absent=tuple(name for name in platform.services if name not in there),
        pools=platform.node_pools,
        adopted=platform.adopted,
        orders=reading.orders,
    )


def with_deployment(scene: Scene) -> Iterator[Target]:
    """The services whose pods can be looked at."""
    for target in scene.targets:
        try:
            target.deployment  # noqa: B018 - whether there is one
        except NoTarget:
            continue
        yield target
