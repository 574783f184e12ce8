"""EC2 quotas of GPU instance families: they count vCPUs, per account and Region, and are 0 in a new account.

Source: https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html, read 2026-11-29. What that page
does not list for a family (Spot of P6, Capacity Blocks of P4de and P6) is not here and therefore unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

Market = Literal["on_demand", "spot", "capacity_block"]
"""How nodes are bought. Reserved Instances, Savings Plans and on-demand capacity reservations are `on_demand` here:
they change the price or hold the place, and their running nodes count as on demand. A Capacity Block is its own."""

SOURCE = "https://docs.aws.amazon.com/ec2/latest/instancetypes/ec2-instance-quotas.html"
READ = "2026-11-29"
CONSOLE = "https://console.aws.amazon.com/servicequotas/home/services/ec2/quotas/"
"""Followed by the code: where an increase is asked for. It takes days."""


@dataclass(frozen=True)
class Quota:
    """One quota of the service `ec2`, by the code Service Quotas knows it by, in vCPUs."""

    code: str
    name: str


_G = Quota("L-DB2E81BA", "Running On-Demand G and VT instances")
_P = Quota("L-417A185B", "Running On-Demand P instances")
_G_SPOT = Quota("L-3819A6DF", "All G and VT Spot Instance Requests")
_P4_SPOT = Quota("L-7212CCBC", "All P4, P3 and P2 Spot Instance Requests")
_P5_SPOT = Quota("L-C4BD4855", "All P5 Spot Instance Requests")

# (what the family's name matches whole, market) -> quota.
_QUOTAS: tuple[tuple[str, Market, Quota], ...] = (
    (r"(g|gr|vt)\d+[a-z]*", "on_demand", _G),
    (r"(g|gr|vt)\d+[a-z]*", "spot", _G_SPOT),
    (r"p\d+[a-z]*(-[a-z0-9]+)?", "on_demand", _P),
    (r"p[234][a-z]*", "spot", _P4_SPOT),
    (r"p5[a-z]*", "spot", _P5_SPOT),
    (r"p4d", "capacity_block", Quota("L-2C8F52B3", "Concurrent P4d Capacity Blocks per account")),
    (r"p5", "capacity_block", Quota("L-DA6814F2", "Concurrent P5 Capacity Blocks per account")),
    (r"p5e", "capacity_block", Quota("L-C45F30BC", "Concurrent P5e Capacity Blocks per account")),
    (r"p5en", "capacity_block", Quota("L-4F9BB70B", "Concurrent P5en Capacity Blocks per account")),
)


def quota_of(instance_type: str, market: Market = "on_demand") -> Quota | None:
    """The quota that nodes of `instance_type` count against; None where it is not known."""
    family = instance_type.partition(".")[0]
    return next(
        (quota for pattern, sold, quota in _QUOTAS if sold == market and re.fullmatch(pattern, family)),
        None,
    )
