"""What a webhook is told, and when: findings once, when they come up, change or go. Pure.

Two findings that differ in their numbers alone are the same: "3 of 7" is no news after "2 of 7".
"""

from __future__ import annotations

import hashlib
import re

from prescale.runs.report import RunReport

# Slack cuts a message at some 4000 characters; what is left out is in the log.
MOST_CHARACTERS = 3000
MOST_FINDINGS = 20

_VERDICTS = {
    0: "all is well again",
    1: "needs a person",
    2: "was not run: bad input",
    3: "was not run: the cluster is out of reach",
}


def state(report: RunReport) -> str:
    """A name for what was found; empty where nothing was."""
    found = sorted({re.sub(r"\d+", "#", finding) for finding in report.findings})
    return hashlib.sha256("\n".join(found).encode()).hexdigest()[:16] if found else ""


def message(report: RunReport) -> str:
    """The text, with Slack's three characters escaped.

    Source: Slack, "Formatting text for app surfaces".
    """
    lines = [f"Warmline, stack {report.stack}: {_VERDICTS[report.exit_code]}"]
    lines += [f"- {finding}" for finding in report.findings[:MOST_FINDINGS]]
    if len(report.findings) > MOST_FINDINGS:
        lines.append(f"- and {len(report.findings) - MOST_FINDINGS} more; see the log")
    text = "\n".join(lines)
    if len(text) > MOST_CHARACTERS:
        text = f"{text[:MOST_CHARACTERS]}..."
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
