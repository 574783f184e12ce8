"""What runs the pre-scaler inside a cluster: what its objects are called, and what its account may do there.

Each capability is a Role of its own with the verbs that its calls need and no others, so that one can be left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

PREFIX = "warmline-prescale"

# Minutes from one run to the next that cron's fields can say evenly.
PERIODS_MIN = (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30)

# Source: Kubernetes 1.34: a CronJob appends 11 characters to its name, and a Job's fits in 63.
MOST_CHARACTERS = 52

# Whose names a rule is held to. `any`: a list cannot be held to names.
Of = Literal["any", "scaled-objects", "adopted-hpas", "orders", "starts", "findings"]


@dataclass(frozen=True)
class Rule:
    """One rule of a Role: `verbs` on the objects of `resource` that `of` names; `everywhere`: of a ClusterRole."""

    group: str
    resource: str
    verbs: tuple[str, ...]
    of: Of = "any"
    everywhere: bool = False


CAPABILITIES: Mapping[str, tuple[Rule, ...]] = {
    # Read and write the floors.
    "floors": (
        Rule("keda.sh", "scaledobjects", ("list",)),
        Rule("keda.sh", "scaledobjects", ("get", "patch"), "scaled-objects"),
    ),
    # The same of HPAs that others made and no ScaledObject owns; only where there are any.
    "adopted-hpas": (Rule("autoscaling", "horizontalpodautoscalers", ("get", "patch"), "adopted-hpas"),),
    # Know what people ordered: `prescale now`, `hold`, `cancel`. A run that may not read it lowers nothing.
    "orders": (Rule("", "configmaps", ("get",), "orders"),),
    # See whether a floor is in force.
    "hpas": (Rule("autoscaling", "horizontalpodautoscalers", ("list",)),),
    # See whether an event is Ready in time; a run that may not says no more than that replicas are not even there.
    "pods": (Rule("", "pods", ("list",)),),
    # Know how long starts took, and keep what its pods tell: a run that may not read them goes by platform.yaml.
    "starts": (Rule("", "configmaps", ("get", "patch"), "starts"),),
    # Remember which findings a webhook was told.
    "findings": (Rule("", "configmaps", ("get", "patch"), "findings"),),
}


def object_name(stack: str) -> str:
    """What the stack's CronJob is called, and its account: with a hash where no object may be called as the stack."""
    room = MOST_CHARACTERS - len(PREFIX) - 1
    plain = re.sub(r"[^a-z0-9]+", "-", stack.lower()).strip("-")
    if plain == stack and len(stack) <= room:
        return f"{PREFIX}-{stack}"
    digest = hashlib.sha256(stack.encode()).hexdigest()[:8]
    return f"{PREFIX}-{plain[: room - len(digest) - 1].rstrip('-')}-{digest}"


def findings_name(stack: str) -> str:
    """The ConfigMap that remembers which findings a webhook was told."""
    return f"{object_name(stack)}-findings"


def rules(capability: str, names: Mapping[Of, Sequence[str]]) -> list[dict[str, list[str]]]:
    """The `rules` of the capability's Role, with the names that they are held to.

    One without a name to be held to is left out: to Kubernetes an empty list of names means all of them.
    """
    return [
        {"apiGroups": [rule.group], "resources": [rule.resource], "verbs": list(rule.verbs)}
        | ({} if rule.of == "any" else {"resourceNames": sorted(names[rule.of])})
        for rule in CAPABILITIES[capability]
        if rule.of == "any" or names[rule.of]
    ]
