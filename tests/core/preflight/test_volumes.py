"""Preflight of claims, volumes and their classes."""

from __future__ import annotations

from typing import Any

import pytest

from prescale.preflight.checks import volumes
from tests.core.preflight.bends import claims, mounts, spread, zones
from tests.core.preflight.cases import Case, both, holds, setting

CLAIMS = "persistentvolumeclaims"
STORAGE = "storageclasses.storage.k8s.io"


def storage_class(mode: str) -> Any:
    return lambda bent: bent.add(STORAGE, "gp3", volumeBindingMode=mode)


CASES = [
    Case(
        "a claim nobody made",
        volumes.missing_claims,
        "PersistentVolumeClaim weights: got nothing",
        mounts("weights"),
        claims("ReadOnlyMany"),
    ),
    Case(
        "a claim that lost its volume",
        volumes.missing_claims,
        "got Lost, expected Bound",
        both(claims("ReadOnlyMany"), lambda w: w.one(CLAIMS, "weights")["status"].update(phase="Lost")),
        claims("ReadOnlyMany"),
    ),
    Case(
        "a claim of one node",
        volumes.unshared_claims,
        "got ReadWriteOnce: the pods of one node, expected ReadWriteMany or ReadOnlyMany for 7 replicas",
        claims("ReadWriteOnce"),
        claims("ReadWriteOnce", "ReadOnlyMany"),
    ),
    Case(
        "a volume in fewer zones than must be",
        volumes.zones_of_claims,
        "zones of its volumes: got a, expected at least 2 zones",
        both(spread(minDomains=2, maxSkew=9), zones("a"), claims("ReadOnlyMany", zone="a")),
        both(spread(minDomains=1, maxSkew=9), claims("ReadOnlyMany")),
    ),
    Case(
        "a class of storage nobody made",
        volumes.storage_classes,
        "no class 'gp3'",
        claims("ReadOnlyMany", storage="gp3"),
        storage_class("WaitForFirstConsumer"),
    ),
    Case(
        "a class that does not wait",
        volumes.storage_classes,
        "volumeBindingMode Immediate",
        both(claims("ReadOnlyMany", storage="gp3"), storage_class("Immediate")),
        setting(lambda w: w.one(STORAGE, "gp3"), volumeBindingMode="WaitForFirstConsumer"),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_found_and_gone_when_mended(case: Case) -> None:
    holds(case)
