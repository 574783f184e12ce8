"""Preflight of PodDisruptionBudgets."""

from __future__ import annotations

from typing import Any

import pytest

from prescale.preflight.checks import budgets
from tests.core.preflight.cases import Case, holds
from tests.core.preflight.world import World, world

BUDGETS = "poddisruptionbudgets.policy"


def budget(**fields: Any) -> Any:
    def bend(bent: World) -> None:
        bent.budget["spec"].pop("maxUnavailable", None)
        bent.budget["spec"].pop("minAvailable", None)
        bent.budget["spec"] |= fields

    return bend


def second_budget(bent: World) -> None:
    bent.add(BUDGETS, "by-hand", spec={"maxUnavailable": 1, "selector": {}})


CASES = [
    Case(
        "no budget",
        budgets.one_budget,
        "got none, expected one",
        lambda w: w.objects[BUDGETS].clear(),
        lambda w: w.objects[BUDGETS].extend(world().objects[BUDGETS]),
    ),
    Case(
        "two budgets",
        budgets.one_budget,
        "got by-hand, support-bot, expected one",
        second_budget,
        lambda w: w.one(BUDGETS, "by-hand")["spec"].update(selector={"matchLabels": {"app": "other"}}),
    ),
    Case(
        "a budget of all replicas at the floor",
        budgets.drains_are_possible,
        "minAvailable 7 at 2 and 7 replicas",
        budget(minAvailable=7),
        budget(minAvailable="50%"),
    ),
    Case(
        "a budget of the baseline",
        budgets.drains_are_possible,
        "minAvailable 2 at 2 replicas",
        budget(minAvailable=2),
        budget(minAvailable=1),
    ),
    Case(
        "a budget of nothing",
        budgets.drains_are_possible,
        "maxUnavailable 0%",
        budget(maxUnavailable="0%"),
        budget(maxUnavailable="10%"),
    ),
    Case(
        "a budget of no pods",
        budgets.budgets_mean_something,
        "a selector that means no pod",
        lambda w: w.add(BUDGETS, "old", spec={"maxUnavailable": 1, "selector": {"matchLabels": {"app": "gone"}}})[
            "metadata"
        ].update(labels=w.budget["metadata"]["labels"]),
        lambda w: w.one(BUDGETS, "old")["metadata"].update(labels={}),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_found_and_gone_when_mended(case: Case) -> None:
    holds(case)
