"""What fields of a stack's files are made of: exact numbers, names that Kubernetes takes, counts of a person's size."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

DNS_LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
DNS_SUBDOMAIN = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
IMAGE_BY_DIGEST = r"^[a-z0-9][a-z0-9._:/-]*@sha256:[0-9a-f]{64}$"


def _exact(value: Any) -> Any:
    return Decimal(value) if isinstance(value, int) and not isinstance(value, bool) else value


Number = Annotated[Decimal, BeforeValidator(_exact, json_schema_input_type=float)]
Positive = Annotated[Number, Field(gt=0)]
# Names become parts of object names with a role suffix (`-image-prepull`), all of which must fit in 63.
Name = Annotated[str, Field(pattern=DNS_LABEL, max_length=40)]
# A Kubernetes Service may not begin with a digit. Source: Kubernetes 1.34, DNS-1035 label.
ServiceName = Annotated[str, Field(pattern=DNS_LABEL.replace("[a-z0-9]", "[a-z]", 1), max_length=40)]
Text = Annotated[str, Field(min_length=1)]
# A month: longer lead times or margins are slips of the pen, and would leave the calendar's years.
Seconds = Annotated[int, Field(ge=0, le=31 * 86400)]
# More are slips of the pen, and Kubernetes' own fields hold 32 bits.
MOST = 100_000
Count = Annotated[int, Field(ge=1, le=MOST)]
CountOrNone = Annotated[int, Field(ge=0, le=MOST)]
GpuCount = Annotated[int, Field(ge=1, le=1024)]


def fault(kind: str, path: tuple[str, ...], got: object, expected: str, fix: str) -> PydanticCustomError:
    """A rule beyond a field's type, in the form `stacks.loader` turns into one `Fault` at `path`."""
    context = {"path": path, "got": str(got), "expected": expected, "fix": fix}
    return PydanticCustomError(kind, "got {got}, expected {expected}. {fix}", context)


def _not_a_share(value: Decimal) -> Decimal:
    if 0 < value < 1:  # 0.3 % of headroom is nobody's wish, and a floor of 6 instead of 7
        fix = f"Write {(value * 100).normalize():f} for the share {value}."
        raise fault("share", (), value, "percent, 0 or from 1 on", fix)
    return value


Percent = Annotated[Number, AfterValidator(_not_a_share)]


class Spec(BaseModel):
    """Base of the tree: frozen, strict, and no field that nobody reads."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", defer_build=True)
