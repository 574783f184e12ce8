"""Preflight of images: by digest, pulled, and on the nodes before they are needed."""

from __future__ import annotations

from typing import Any

import pytest

from prescale.preflight.checks import images
from prescale.preflight.finding import Report
from tests.core.preflight.bends import engine, template
from tests.core.preflight.cases import Case, both, holds
from tests.core.preflight.world import World, world


def waits(reason: str, number: int = 0) -> Any:
    def bend(bent: World) -> None:
        bent.pods[number]["status"]["containerStatuses"][0]["state"] = {"waiting": {"reason": reason, "message": "so"}}

    return bend


def holder(**status: int) -> Any:
    return lambda bent: bent.objects["daemonsets.apps"][0]["status"].update(status)


CASES = [
    Case(
        "a tag",
        images.by_digest,
        "image of container engine: got vllm/vllm-openai:latest",
        both(
            engine(image="vllm/vllm-openai:latest"),
            lambda w: w.objects["daemonsets.apps"][0]["spec"]["template"]["spec"]["containers"][0].update(
                image="vllm/vllm-openai:latest"
            ),
        ),
        both(
            engine(image="vllm@sha256:" + "2" * 64),
            lambda w: w.objects["daemonsets.apps"][0]["spec"]["template"]["spec"]["containers"][0].update(
                image="vllm@sha256:" + "2" * 64
            ),
        ),
    ),
    Case(
        "an image that is not pulled",
        images.stuck,
        "container engine of 1 pods (support-bot-6d5f8c7b9-0): got ImagePullBackOff: so",
        waits("ImagePullBackOff"),
        waits("ContainerCreating"),
    ),
    Case(
        "a secret the container needs",
        images.stuck,
        "got CreateContainerConfigError: so",
        waits("CreateContainerConfigError", 1),
        waits("PodInitializing", 1),
    ),
    Case(
        "no holder of the image",
        images.pre_pulled,
        "no DaemonSet that holds it",
        lambda w: w.objects["daemonsets.apps"].clear(),
        lambda w: w.objects["daemonsets.apps"].extend(world().objects["daemonsets.apps"]),
    ),
    Case(
        "a holder that is not Ready everywhere",
        images.pre_pulled,
        "got 16 of 18 Ready with the image",
        holder(numberReady=16),
        holder(numberReady=18),
    ),
    Case(
        "a holder on its way to the new image",
        images.pre_pulled,
        "got 3 of 18 Ready with the image",
        holder(updatedNumberScheduled=3),
        holder(updatedNumberScheduled=18),
    ),
    Case(
        "a holder that leaves nodes out",
        images.pre_pulled,
        "got 12 nodes, expected the 18 Ready nodes",
        holder(desiredNumberScheduled=12, numberReady=12, updatedNumberScheduled=12),
        holder(desiredNumberScheduled=18, numberReady=18, updatedNumberScheduled=18),
    ),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_found_and_gone_when_mended(case: Case) -> None:
    holds(case)


def test_a_pull_secret_is_believed_once_a_pod_has_pulled() -> None:
    bent = world()
    template(imagePullSecrets=[{"name": "registry"}])(bent)
    assert bent.report() == Report((), ())
    for pod in bent.pods:
        pod["status"]["containerStatuses"][0]["imageID"] = ""
    (unsure,) = bent.report().not_checked
    assert "see that registry is there" in unsure.because
