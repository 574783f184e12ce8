"""The typed tree of everything an operator may set for one platform (`stacks/<env>/platform.yaml`).

Every plain number carries its unit in its name. What has a default that is right for production is not asked for;
`warmline preview` shows it. `warmline.schema.json` for editors is made from this tree.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal

from pydantic import Field, model_validator

from stacks.adopted import Adopted
from stacks.field_types import (
    DNS_LABEL,
    IMAGE_BY_DIGEST,
    Count,
    CountOrNone,
    GpuCount,
    Name,
    Percent,
    Positive,
    Seconds,
    ServiceName,
    Spec,
    Text,
    fault,
)
from stacks.instance_types import INSTANCE_TYPES


class Cluster(Spec):
    """The cluster to build in. Only a cluster that exists can be taken today: through a kubeconfig's context."""

    context: Text | None = Field(
        None, description="kubeconfig context, by whose name the cluster is known; none means the current one"
    )


class Prometheus(Spec):
    """Where KEDA reads the engines' metrics: an address as seen from the KEDA operator."""

    url: Annotated[str, Field(pattern=r"^https?://")]


class NodePool(Spec):
    """GPU nodes of one kind, as a contract: the labels and taints that put engines, and only engines, on them."""

    instance_types: Annotated[list[Text], Field(min_length=1)]
    provisioner: Literal["existing"] = Field("existing", description="who makes the nodes; existing: not Warmline")
    max_nodes: Count
    gpus_per_node: GpuCount | None = Field(None, description="only for unknown instance types")
    local_disk_path: Annotated[str, Field(pattern=r"^/")] = "/mnt/k8s-disks/0"

    @model_validator(mode="after")
    def _known_types(self) -> NodePool:
        unknown = [name for name in self.instance_types if name not in INSTANCE_TYPES]
        if unknown and self.gpus_per_node is None:
            fix = "Correct the name, or set gpus_per_node to what such a node holds."
            raise fault("instance_type", ("instance_types",), ", ".join(unknown), "known GPU instance types", fix)
        return self

    def gpus(self, instance_type: str) -> int:
        """GPUs on one node of `instance_type`."""
        known = INSTANCE_TYPES.get(instance_type)
        return known.gpus if known else self.gpus_per_node or 0

    @property
    def most_gpus(self) -> int:
        """GPUs of all the nodes it may have, each of the largest type."""
        return self.max_nodes * max(self.gpus(kind) for kind in self.instance_types)


class Model(Spec):
    """The weights served, and the name clients ask for."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9])?$", max_length=63)]
    source: Annotated[str, Field(pattern=r"^s3://[^/]+/.+$")]
    revision: Annotated[str, Field(pattern=r"^[A-Za-z0-9][-A-Za-z0-9._]*$", max_length=63)]


class Engine(Spec):
    """The serving engine. `args` are further flags of the engine as `name: value`; those Warmline sets are refused.

    An empty text is a bare switch (`enable-prefix-caching: ""`). Flags and metrics are those of vLLM 0.33. An older
    engine does not start with a flag it does not know: one before 0.18 is refused (`--shutdown-timeout`, which every
    engine gets), and so is a flag in `args` that is known to be younger than `version`: `max-num-queued-reqs` and
    `max-num-queued-tokens` before 0.29, `custom-histogram-buckets` before 0.32.
    """

    kind: Literal["vllm"]
    version: Annotated[str, Field(pattern=r"^[0-9]+\.[0-9]+(\.[0-9]+)?$")]
    image: Annotated[str, Field(pattern=IMAGE_BY_DIGEST)]
    max_num_seqs: Count
    args: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$")], str] = Field(default_factory=dict)


class Slo(Spec):
    """What the service promises: p95 time to first token, p95 time per output token, and the share that keeps both.

    Of all requests, `attainment_pct` keep both limits at once. 95 promises no more than the two p95; 99 is stricter.
    """

    ttft_p95_ms: Positive
    tpot_p95_ms: Positive
    attainment_pct: Annotated[Percent, Field(ge=1, le=100)] = Decimal(99)


class Capacity(Spec):
    """What one replica carries at the SLO: the operating target, 70-80 % of the knee. Nothing discounts it again."""

    in_flight_per_replica: Positive
    tokens_per_s_per_replica: Positive | None = Field(
        None, description="output tokens per second, from the same evidence; for events that say tokens_per_s"
    )
    evidence: Text = Field(description="the file the number comes from, relative to the stack's folder")
    kind: Literal["measured", "sandbox", "illustrative"]


class Replicas(Spec):
    """`min` is the baseline Warmline falls back to; `max` the ceiling no event and no metric passes."""

    min: CountOrNone
    max: Count

    @model_validator(mode="after")
    def _ordered(self) -> Replicas:
        if self.min > self.max:
            fix = f"Raise max to {self.min} or more, or lower min."
            raise fault("replicas", ("min",), self.min, f"at most replicas.max ({self.max})", fix)
        return self


class ColdStart(Spec):
    """p95 of each phase from pod created to Ready, 0 where nodes stand and the image is pre-pulled.

    Their sum is the lead time. `measured` says what the cluster's own starts change: `if_longer` raises earlier where
    their p95 is above; `replaces` also later where it is below, once 59 are known; `ignored` goes by the sum alone.
    """

    node_s: Seconds = 0
    image_s: Seconds = 0
    weights_s: Seconds
    engine_start_s: Annotated[Seconds, Field(ge=1)]
    measured: Literal["if_longer", "replaces", "ignored"] = "if_longer"

    @property
    def total_s(self) -> int:
        return self.node_s + self.image_s + self.weights_s + self.engine_start_s


class ScaleDown(Spec):
    """How replicas are let go: after `window_s` of lower need, then `replicas` every `period_s`."""

    window_s: Annotated[int, Field(ge=0, le=3600)] = 600
    replicas: Count = 1
    period_s: Annotated[int, Field(ge=1, le=1800)] = 60


class Rollout(Spec):
    """A new version needs `surge` spare replicas' GPUs beside the running ones, or takes `unavailable` away."""

    surge: CountOrNone = 1
    unavailable: CountOrNone = 0

    @model_validator(mode="after")
    def _moves(self) -> Rollout:
        if self.surge == 0 and self.unavailable == 0:
            raise fault("rollout", ("surge",), 0, "surge or unavailable above 0", "Set surge: 1.")
        return self


class UsualLoad(Spec):
    """The usual peak, without any event: requests per second, and how long one request takes."""

    rps: Positive
    request_duration_s: Positive


class WeightsLoader(Spec):
    """The image whose `aws s3 sync` fills the node's local disk with the weights."""

    image: Annotated[str, Field(pattern=IMAGE_BY_DIGEST)]


class Service(Spec):
    """One model served by one engine on one node pool.

    `zones` makes the loss of a zone survivable: the replicas of a version are within one of each other over so many
    zones, or wait (DoNotSchedule, maxSkew 1, minDomains). Left out, they spread as far as there is room, which promises
    nothing. What it costs: while one of the zones is lost, or has no node of the pool, none of the others gets a second
    replica, or one more: what runs has to carry the peak. In a rollout the new version spreads by itself, so the
    surge's replica needs a GPU in the zone whose turn it is: where nodes are made on demand one is made there, on
    standing nodes without a free one there the rollout waits. Scaling down may leave zones uneven.
    """

    owner: Text
    node_pool: Name
    gpus_per_replica: GpuCount
    model: Model
    engine: Engine
    slo: Slo
    capacity: Capacity
    replicas: Replicas
    zones: Annotated[int, Field(ge=2, le=12)] | None = Field(
        None, description="zones that the replicas must be spread over evenly; none: as far as there is room"
    )
    usual_load: UsualLoad | None = None
    longest_stream_s: Annotated[Seconds, Field(ge=1)]
    cold_start: ColdStart
    scale_down: ScaleDown = ScaleDown.model_construct()
    rollout: Rollout = Rollout.model_construct()
    cost_center: Text | None = None
    adopted: Adopted | None = Field(None, description="none: Warmline builds the service and what scales it")


class Runner(Spec):
    """The CronJob that runs `warmline prescale sync` inside the cluster. Left out, somebody else runs it.

    `webhook_secret` is a Secret of the namespace whose key `url` is told findings.
    """

    image: Annotated[str, Field(pattern=IMAGE_BY_DIGEST, description="an image with `warmline` on its PATH")]
    every_min: Literal[1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30] = Field(2, description="minutes from one run to the next")
    webhook_secret: Annotated[str, Field(pattern=DNS_LABEL, max_length=63)] | None = None


class Platform(Spec):
    """One environment's platform: a cluster, its GPU node pools and the services on them."""

    cluster: Cluster = Cluster.model_construct()
    namespace: Name = "serving"
    production: bool = Field(False, description="true refuses capacity evidence that was not measured")
    prometheus: Prometheus
    weights_loader: WeightsLoader
    node_pools: Annotated[dict[Name, NodePool], Field(min_length=1)]
    services: Annotated[dict[ServiceName, Service], Field(min_length=1)]
    runner: Runner | None = None

    @property
    def built(self) -> dict[str, Service]:
        """Those that Warmline builds."""
        return {name: service for name, service in self.services.items() if service.adopted is None}

    @property
    def adopted(self) -> dict[str, Adopted]:
        """Service -> what scales it, of those that other hands built."""
        return {name: service.adopted for name, service in self.services.items() if service.adopted}
