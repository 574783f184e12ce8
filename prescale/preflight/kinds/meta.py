"""What every object has: metadata, conditions, label selectors; and how an answer's JSON becomes typed objects."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Annotated, Any, TypeVar

import msgspec
from whenever import Instant

from prescale.preflight.quantity import amount


class Shape(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """An object or a part of one. What is absent has the API's default; what is not named here is not looked at."""


S = TypeVar("S", bound=Shape)

CountOrPercent = int | Annotated[str, msgspec.Meta(pattern=r"^\d{1,6}%$")]

Amounts = dict[str, Fraction]
"""Resource name -> quantity, exact, in the resource's base unit (cores, bytes, devices)."""


class Owner(Shape, frozen=True):
    kind: str
    name: str


class Written(Shape, frozen=True):
    """One entry of the server's book of field owners."""

    manager: str = ""
    operation: str = ""
    subresource: str = ""
    fields_v1: dict[str, Any] = msgspec.field(default_factory=dict)

    def has(self, *path: str) -> bool:
        """Whether it owns the field at `path`, or something below it."""
        fields: Any = self.fields_v1
        for part in path:
            fields = fields.get(f"f:{part}") if isinstance(fields, dict) else None
        return fields is not None


class Meta(Shape, frozen=True):
    name: str = ""
    namespace: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    owner_references: tuple[Owner, ...] = ()
    managed_fields: tuple[Written, ...] = ()
    creation_timestamp: Instant | None = None
    deletion_timestamp: Instant | None = None
    generation: int = 0


class Condition(Shape, frozen=True):
    type: str
    status: str
    reason: str = ""
    message: str = ""


def condition(conditions: Iterable[Condition], kind: str) -> Condition | None:
    """The condition of this type, if the object has it."""
    return next((one for one in conditions if one.type == kind), None)


class Requirement(Shape, frozen=True):
    """Of labels or fields. `operator`: In, NotIn, Exists, DoesNotExist; of nodes also Gt, Lt."""

    key: str
    operator: str
    values: tuple[str, ...] = ()


class LabelSelector(Shape, frozen=True):
    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[Requirement, ...] = ()


def typed(item: Any, shape: type[S]) -> S:
    """One object of an API server's answer.

    Raises:
        msgspec.ValidationError: it is not of the shape, so it is no answer of a Kubernetes API server.
    """
    return msgspec.convert(_without_nulls(item), shape, dec_hook=_decoded)


def _decoded(kind: type, value: Any) -> Any:
    return amount(value) if kind is Fraction else Instant.parse_iso(value)


def _without_nulls(value: Any) -> Any:
    """A null says the same as an absent field."""
    if isinstance(value, dict):
        return {
            # The largest part of many objects, and without nulls.
            key: item if key == "managedFields" else _without_nulls(item)
            for key, item in value.items()
            if item is not None
        }
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value
