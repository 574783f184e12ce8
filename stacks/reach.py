"""The error for what cannot be reached: a cluster, a cloud, an engine. A command that meets it exits 3."""

from __future__ import annotations


class OutOfReach(Exception):  # noqa: N818 - it names the state, as the exit code does
    """`address` was asked and did not answer as it should.

    `changed` says what had been changed before, for a command that writes more than once.
    """

    def __init__(self, address: str, reason: str, fix: str, changed: str = "Nothing was changed.") -> None:
        self.address, self.reason, self.fix = address, reason, fix
        super().__init__(f"{address}: out of reach: {reason}. {changed} {fix}")
