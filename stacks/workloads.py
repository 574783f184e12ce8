"""Sizing requests (`stacks/<env>/workloads.yaml`): what a product asks of the platform, in six sections.

Nothing but a load is demanded. What is left out and moves the number becomes an assumption with a range in the plan;
what is left out and does not, an open question.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, model_validator

from stacks.field_types import Count, CountOrNone, Name, Number, Percent, Positive, ServiceName, Spec, Text, fault
from stacks.workload_class import Share, WorkloadClass

ReserveName = Literal["failure", "rollout", "cold_start", "near_term_growth"]


def _as_section(value: Any) -> Any:
    return {} if value is None else value


def _as_text(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Slots = Annotated[
    str, BeforeValidator(_as_text, json_schema_input_type=int | str), Field(pattern=r"^([0-9]{1,5}|[0-9]{1,2}%|100%)$")
]


class Product(Spec):
    """1. Product and scenarios: who asks, and for what."""

    owner: Text | None = Field(None, description="the team that answers for it")
    contact: Text | None = Field(None, description="the technical contact")
    environments: list[Text] | None = Field(None, description="where it runs")
    execution: Literal["interactive", "asynchronous", "batch", "agentic"] | None = Field(
        None, description="whether somebody waits for the answer"
    )
    launch: Text | None = Field(None, description="expected launch date")
    growth_stages: list[Text] | None = Field(None, description="expected stages, as `2027-10: pilot, 200 users`")


class Candidate(Spec):
    """A model that may serve it. With `config`, its memory is reckoned before anything is bought."""

    name: Text
    revision: Text | None = Field(None, description="exact revision of the weights")
    tokenizer_revision: Text | None = Field(None, description="exact revision of the tokenizer")
    config: Text | None = Field(None, description="the model's config.json, relative to the stack's folder")
    weights_index: Text | None = Field(
        None, description="its model.safetensors.index.json, relative to the stack's folder: the exact weights' bytes"
    )
    parameters_b: Positive | None = Field(None, description="billions of parameters, where there is no config.json")
    weights_bits: Literal[2, 3, 4, 8, 16, 32] | None = Field(None, description="bits of each of these parameters")
    quality: Text | None = Field(None, description="result of the quality evaluation")

    @model_validator(mode="after")
    def _size_once(self) -> Candidate:
        if (self.parameters_b is None) != (self.weights_bits is None):
            missing = "weights_bits" if self.weights_bits is None else "parameters_b"
            raise fault("size", (missing,), "nothing", "both parameters_b and weights_bits", "Add it.")
        if self.parameters_b is not None and self.config is not None:
            expected = "no parameters_b beside config"
            raise fault("size", ("parameters_b",), self.parameters_b, expected, "Remove it: config.json has them.")
        return self


class Models(Spec):
    """2. Model candidates; the first is the one sized for."""

    candidates: list[Candidate] | None = Field(None, description="exact identifiers and revisions")
    context_tokens: Annotated[int, Field(ge=1, le=100_000_000)] | None = Field(
        None, description="the longest context that must be served, prompt and answer together"
    )
    needs: list[Literal["reasoning", "multimodal", "tool-calling", "structured-output"]] | None = Field(
        None, description="abilities asked of it"
    )
    fallbacks: list[Text] | None = Field(None, description="models that may answer instead")


class Profile(Spec):
    """3. Workload profile: classes of work that differ in length, rhythm or worth."""

    classes: Annotated[dict[Name, WorkloadClass], Field(min_length=1)]
    horizon_months: Count | None = Field(None, description="how far ahead `growth_pct` looks; usual are 6 to 12")
    trace: Text | None = Field(None, description="a representative trace or dataset, relative to the stack's folder")


class RequestedSlo(Spec):
    """4. SLO, as the product needs it. Stricter than the service's own, its capacity was measured for less."""

    ttft_p95_ms: Positive | None = Field(None, description="time to first token")
    itl_p95_ms: Positive | None = Field(None, description="gap between tokens")
    tpot_p95_ms: Positive | None = Field(None, description="time per output token of a request")
    attainment_pct: Annotated[Percent, Field(ge=1, le=100)] | None = Field(
        None, description="share of requests that keeps all at once; 95: no more than p95"
    )
    e2e_p95_s: Positive | None = Field(None, description="a whole LLM call; its mean is held against it")
    run_p95_s: Positive | None = Field(
        None, description="a whole agent run or job; its LLM calls at their mean are held against it"
    )
    queue_p95_ms: Positive | None = Field(None, description="waiting before execution")
    errors_pct: Share | None = Field(None, description="errors and timeouts that are tolerable")
    overload: Literal["reject", "queue", "degrade", "overflow"] | None = Field(None, description="what excess meets")


class RolloutSlots(Spec):
    """As a Deployment's: whole replicas or percent. Source: Kubernetes rounds surge up and unavailable down."""

    surge: Slots = "1"
    unavailable: Slots = "0"


class Reliability(Spec):
    """5. Reliability and isolation: what must survive, as reserves one by one, or as plain headroom; not both."""

    isolation: Literal["shared", "dedicated", "reserved"] | None = Field(None, description="whose replicas they are")
    quota_in_flight: Positive | None = Field(
        None, description="most it may have in flight on replicas that others share; none: what it is sized for"
    )
    share: Positive | None = Field(
        None,
        description="its weight among requests of one priority, and without a quota its part of what others leave; "
        "none: 1, or its quota where no request to the service says one",
    )
    priority: Annotated[int, Field(ge=0, le=100)] | None = Field(
        None,
        description="who goes first when not all fit, the highest; none: 2 where somebody waits for the answer, 1 for "
        "asynchronous execution, 0 for batch",
    )
    availability_pct: Share | None = Field(None, description="required availability")
    headroom_pct: Annotated[Percent, Field(ge=0, le=400)] | None = Field(
        None, description="on top of the load, instead of reserves; 20 to 40 is usual"
    )
    survive: Literal["none", "pod", "node", "zone"] | None = Field(
        None, description="the largest loss to carry on through"
    )
    zones: Annotated[int, Field(ge=2, le=12)] | None = Field(
        None, description="zones the replicas are spread over; none: the service's own `zones`"
    )
    capacity_after_loss_pct: Annotated[Percent, Field(ge=1, le=100)] | None = Field(
        None, description="share of the peak that must still be carried after the loss"
    )
    rollout: RolloutSlots | None = Field(None, description="none: the service's own")
    near_term_growth_pct: Annotated[Percent, Field(ge=0, le=1000)] | None = Field(
        None, description="beyond the projected peak, until more can be had"
    )
    one_at_a_time: list[ReserveName] = Field([], description="reserves of which the largest covers the others")
    max_recovery_s: Annotated[Number, Field(gt=0, le=31 * 86400)] | None = Field(None, description="until full again")
    degradation: list[Text] | None = Field(None, description="what may be given up under pressure")

    @model_validator(mode="after")
    def _sets_or_headroom(self) -> Reliability:
        sets = ("survive", "zones", "capacity_after_loss_pct", "near_term_growth_pct", "rollout")
        said = [name for name in sets if getattr(self, name) is not None]
        said += ["one_at_a_time"] if self.one_at_a_time else []
        if said and self.survive is None and self.headroom_pct is None:
            fix = "Say which loss to carry on through: none, pod, node or zone."
            raise fault("reserve", ("survive",), "nothing", f"survive beside {said[0]}", fix)
        if self.headroom_pct is not None and said:
            expected = f"no headroom_pct beside {said[0]}"
            raise fault("reserve", ("headroom_pct",), self.headroom_pct, expected, "Keep headroom or the reserves.")
        return self


class Observability(Spec):
    """6. Observability and data handling."""

    tracing: Text | None = Field(None, description="the tracing system")
    token_usage: Text | None = Field(None, description="how token usage is collected")
    correlation_ids: bool | None = Field(None, description="from the gateway to the engine")
    prompt_versions: bool | None = Field(None, description="prompt and application versions are recorded")
    pseudonymized: bool | None = Field(None, description="user and business identifiers are pseudonyms")
    retention_days: CountOrNone | None = Field(None, description="how long telemetry is kept")
    access: Text | None = Field(None, description="who may read it")
    records_sensitive_content: bool | None = Field(
        None, description="prompts, outputs, tool arguments, code or documents are recorded by default"
    )


def _section(model: type[Spec]) -> BeforeValidator:
    """A heading below which nothing is filled in yet: all of its fields are unsaid."""
    return BeforeValidator(_as_section, json_schema_input_type=model | None)


class Workload(Spec):
    """One product's request, against one service of platform.yaml."""

    service: ServiceName
    product: Annotated[Product, _section(Product)] = Product()
    models: Annotated[Models, _section(Models)] = Models()
    profile: Profile
    slo: Annotated[RequestedSlo, _section(RequestedSlo)] = RequestedSlo()
    reliability: Annotated[Reliability, _section(Reliability)] = Reliability()
    observability: Annotated[Observability, _section(Observability)] = Observability()


class WorkloadsSpec(Spec):
    """The file as written."""

    workloads: Annotated[dict[Name, Workload], Field(min_length=1)]
