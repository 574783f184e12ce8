"""The table of checks: each has been wrong in some way in the tests of its topic."""

from __future__ import annotations

from prescale.preflight.checks.table import CHECKS
from tests.core.preflight import (
    test_budgets,
    test_images,
    test_nodes,
    test_quotas,
    test_rollouts,
    test_scaling,
    test_servers,
    test_volumes,
)

TOPICS = (test_budgets, test_images, test_nodes, test_quotas, test_rollouts, test_scaling, test_servers, test_volumes)
ELSEWHERE = {"is_built", "are_readable", "is_awake", "not_reckoned", "pull_secrets"}
"""What these say is not gone by one thing that is mended: they have tests of their own."""


def test_every_check_has_been_wrong_in_some_way() -> None:
    shown = {case.by for topic in TOPICS for case in topic.CASES}
    assert {check.judge.__name__ for check in CHECKS if check.judge not in shown} == ELSEWHERE
