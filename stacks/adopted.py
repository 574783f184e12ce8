"""A service that Warmline sizes and raises, and that other hands built: which object scales it."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from stacks.field_types import DNS_SUBDOMAIN, Spec
from stacks.scaler import Kind

# Source: Kubernetes 1.34, label keys and values.
_WORD = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
LabelKey = Annotated[str, Field(pattern=rf"^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?{_WORD}$", max_length=253)]
LabelValue = Annotated[str, Field(pattern=rf"^({_WORD})?$")]


class Adopted(Spec):
    """The object that scales a service which others built: a ScaledObject, or an HPA that no ScaledObject owns.

    Warmline builds nothing for such a service. It reckons with it as with any other, and raises the object's floor once
    `warmline prescale adopt NAMESPACE/NAME` has taken it; the object is in the stack's namespace. The service's other
    fields say what runs there: they are facts to size, plan and check by, and start nothing.
    """

    kind: Kind
    name: Annotated[str, Field(pattern=DNS_SUBDOMAIN, max_length=253)]
    pod_labels: Annotated[dict[LabelKey, LabelValue], Field(min_length=1)] = Field(
        description="what its Deployment selects its pods by: how Ready ones are counted"
    )
