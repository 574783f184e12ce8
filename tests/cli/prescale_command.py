"""`warmline prescale` of stack local, run in this process."""

from __future__ import annotations

from click.testing import CliRunner, Result

from cli.main import warmline

RAISED = "2027-10-29T14:00:00Z"
"""When the shipped event is raised."""


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(warmline, ["prescale", *arguments, "-s", "local"])
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result
