"""What AWS's services say of prices, in one form, and what asking them has in common."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from stacks.prices import Term
from stacks.reach import OutOfReach

if TYPE_CHECKING:
    from botocore.config import Config

ENDPOINT_REGION = "us-east-1"
"""Answers for every region of the public partition. Source: botocore 1.44.8, endpoints of `pricing`, `savingsplans`."""


@dataclass(frozen=True)
class Service:
    """One that is asked. name: begins that of a source, the day follows; what: its figures come from, for a person.

    question: its operation, as a source names it; right: what the credentials must allow.
    """

    name: str
    what: str
    address: str
    question: str
    right: str


@dataclass(frozen=True)
class Listed:
    """What is said of one instance type: dollars per hour by term, and the day that it is of.

    Terms with several prices are in `ambiguous` instead: which of them holds is not guessed.
    """

    usd_per_h: Mapping[Term, Decimal]
    ambiguous: tuple[Term, ...]
    date: str


@dataclass(frozen=True)
class Answers:
    """One service's, by instance type; None where it has no such node."""

    service: Service
    of_types: Mapping[str, Listed | None]


def limits() -> Config:
    """Short ones of time, for a person waits."""
    from botocore.config import Config

    return Config(connect_timeout=5, read_timeout=30, retries={"mode": "standard", "max_attempts": 3})


@contextmanager
def asking(service: Service, instance_type: str = "") -> Iterator[None]:
    """Whatever goes wrong within is `service` out of reach.

    Raises:
        OutOfReach: no credentials, no answer, a refusal, or an answer of another shape.
    """
    from botocore.exceptions import BotoCoreError, ClientError

    fix = (
        f"Check the network and the AWS credentials ({service.right}), or write the figures to the stack's prices.yaml."
    )
    try:
        yield
    except (BotoCoreError, ClientError) as error:
        raise OutOfReach(service.address, " ".join(str(error).split()).rstrip("."), fix) from None
    except (AttributeError, InvalidOperation, KeyError, TypeError, ValueError) as error:
        reason = (
            f"its answer for {instance_type} is not of the shape of {service.what} ({type(error).__name__}: {error})"
        )
        raise OutOfReach(service.address, reason, fix) from None


def listed(found: Mapping[Term, set[Decimal]], date: str) -> Listed:
    """Prices by term: those that are one."""
    known = {term: next(iter(prices)) for term, prices in found.items() if len(prices) == 1}
    return Listed(known, tuple(term for term in found if term not in known), date)
