"""A scheduled GitHub Actions workflow that runs the pre-scaler.

Source: GitHub Docs, "Events that trigger workflows" (schedule) and "OpenID Connect in Amazon Web Services".
"""

from __future__ import annotations

from collections.abc import Sequence

from prescale.schedule.rendering import render
from stacks.loader import Stack

LEAST_MIN = 5
"""GitHub's shortest period."""

# Tags move; a commit does not.
ACTIONS = {
    "checkout": "actions/checkout@11bd71901bbe5b1630ceea73d27597364c9af683 # v4.2.2",
    "python": "actions/setup-python@a26af69be951a213d495a4c3e4e4022e16d87065 # v5.6.0",
    "aws": "aws-actions/configure-aws-credentials@b47578312673ae6fa5b5096b330d9fbac3d116df # v4.2.1",
}


def workflow(stacks: Sequence[Stack], every_min: int) -> str:
    """The workflow's text: one job for each stack, in the GitHub environment of its name."""
    places = [{"stack": stack.name, "context": stack.platform.cluster.context or stack.name} for stack in stacks]
    return render("prescale-workflow.yaml.j2", places=places, every_min=every_min, actions=ACTIONS)
