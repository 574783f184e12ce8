"""Every check there is, in the order they are told. A name means one topic; what looks at all services is marked so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from prescale.preflight.checks import (
    autoscalers,
    budgets,
    images,
    lifetimes,
    nodes,
    ordering,
    owners,
    priorities,
    quotas,
    rollouts,
    scaled_objects,
    servers,
    targets,
    triggers,
    volumes,
)
from prescale.preflight.finding import Found, Unsure
from prescale.preflight.scene import Scene, Target

Word = Iterator[Found] | Iterator[Unsure] | Iterator[Found | Unsure]


@dataclass(frozen=True)
class OfStack:
    """A check of the whole stack."""

    name: str
    judge: Callable[[Scene], Word]


@dataclass(frozen=True)
class OfService:
    """A check of each service by itself."""

    name: str
    judge: Callable[[Target], Word]


CHECKS: tuple[OfStack | OfService, ...] = (
    OfStack("target", targets.is_built),
    OfService("target", targets.has_deployment),
    OfStack("orders", ordering.are_readable),
    OfStack("nodes", nodes.room_for_the_floors),
    OfService("nodes", nodes.on_cordoned_nodes),
    OfStack("nodes", nodes.without_gpus),
    OfService("nodes", nodes.not_reckoned),
    OfStack("quota", quotas.quota_of_the_floors),
    OfService("quota", quotas.quota_needs_words),
    OfService("limit-range", quotas.limit_ranges),
    OfService("limit-range", quotas.requests_above_limits),
    OfService("priority", priorities.class_is_there),
    OfStack("priority", priorities.taken_by_others),
    OfService("volumes", volumes.missing_claims),
    OfService("volumes", volumes.unshared_claims),
    OfService("volumes", volumes.zones_of_claims),
    OfService("volumes", volumes.storage_classes),
    OfService("disruption-budget", budgets.one_budget),
    OfService("disruption-budget", budgets.drains_are_possible),
    OfStack("disruption-budget", budgets.budgets_mean_something),
    OfService("scaled-object", scaled_objects.paused),
    OfService("scaled-object", scaled_objects.idle),
    OfService("scaled-object", scaled_objects.ceiling),
    OfService("scaled-object", scaled_objects.conditions),
    OfService("scaled-object", scaled_objects.second_owner),
    OfService("fallback", scaled_objects.fallback),
    OfService("fallback", scaled_objects.modifiers),
    OfService("hpa", autoscalers.is_there),
    OfService("hpa", autoscalers.owner),
    OfService("hpa", autoscalers.others_on_the_target),
    OfService("hpa", autoscalers.follows),
    OfService("hpa", autoscalers.may_scale_up),
    OfService("hpa", autoscalers.is_awake),
    OfService("hpa", autoscalers.is_active),
    OfService("trigger", triggers.failing),
    OfService("trigger", triggers.authentications),
    OfService("trigger", triggers.cron_fields),
    OfService("trigger", triggers.prometheus_fields),
    OfService("trigger", triggers.metric_names),
    OfService("trigger", triggers.threshold_is_reached),
    OfService("owner", owners.field_managers),
    OfService("owner", owners.last_applied),
    OfService("owner", owners.argo),
    OfService("owner", owners.replicas),
    OfService("image", images.by_digest),
    OfService("image", images.stuck),
    OfService("image", images.pull_secrets),
    OfService("image", images.pre_pulled),
    OfService("lifetime", lifetimes.startup),
    OfService("lifetime", lifetimes.grace),
    OfService("lifetime", lifetimes.progress_deadline),
    OfService("rollout", rollouts.paused),
    OfService("rollout", rollouts.in_progress),
    OfService("rollout", rollouts.failed),
    OfStack("server", servers.clock),
    OfStack("server", servers.external_metrics),
    OfStack("server", servers.webhook),
)
