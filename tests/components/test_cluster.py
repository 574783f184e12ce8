"""Which cluster the one provider means: by the name of its context, whatever file and address that comes from."""

from __future__ import annotations

from typing import Any

import pytest

from infra.render import render
from tests.components.specs import platform


def provider(**cluster: Any) -> dict[str, Any]:
    objects = render("test", platform(cluster=cluster)).objects
    (found,) = [item.inputs for item in objects if item.type == "pulumi:providers:kubernetes"]
    return found


def test_its_name_is_what_tells_it_from_another() -> None:
    """Source: pulumi-kubernetes 4.25, DiffConfig: it replaces by the identifier alone where there is one."""
    assert provider(context="eks-prod")["clusterIdentifier"] == "eks-prod"
    assert "clusterIdentifier" not in provider()


def test_no_path_of_this_machine_comes_into_the_state(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KUBECONFIG", raising=False)
    without = provider(context="eks-prod")
    monkeypatch.setenv("KUBECONFIG", "/home/alice/.kube/prod:/home/alice/.kube/config")
    assert provider(context="eks-prod") == without
    assert without["kubeconfig"] == ""
