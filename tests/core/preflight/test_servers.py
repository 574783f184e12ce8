"""Preflight of the servers a raise goes through: clock, metrics, webhook."""

from __future__ import annotations

from typing import Any

import pytest

from prescale.clock import Clock
from prescale.preflight.checks import servers
from tests.core.preflight.cases import Case, holds
from tests.core.preflight.world import NOW, World


def clock_off(seconds: int) -> Any:
    return lambda bent: setattr(bent, "clock", Clock(NOW, NOW.add(seconds=seconds)))


def available(value: str) -> Any:
    said_so = [{"type": "Available", "status": value, "reason": "FailedDiscoveryCheck", "message": "no answer"}]
    return lambda bent: bent.objects["apiservices.apiregistration.k8s.io"][0]["status"].__setitem__(
        "conditions", said_so
    )


def webhooks(group: str) -> Any:
    def bend(bent: World) -> None:
        (one,) = bent.objects["validatingwebhookconfigurations.admissionregistration.k8s.io"]
        one["webhooks"][0]["rules"][0]["apiGroups"] = [group]

    return bend


CASES = [
    Case("a clock behind", servers.clock, "got 301 s behind the API server's", clock_off(301), clock_off(300)),
    Case(
        "no metrics server",
        servers.external_metrics,
        "got not available, FailedDiscoveryCheck: no answer",
        available("False"),
        available("True"),
    ),
    Case("no webhook", servers.webhook, "KEDA's admission webhook: got nothing", webhooks("apps"), webhooks("keda.sh")),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_found_and_gone_when_mended(case: Case) -> None:
    holds(case)
