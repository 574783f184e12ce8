"""A temporary stack with one sizing request, and the command that plans it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml
from click.testing import CliRunner, Result

from cli.main import warmline

KNOWN = {"growth_pct": 0, "exact_cache_hit_pct": 0}
"""What would be assumed otherwise."""
NOTHING_MORE = {"survive": "none", "near_term_growth_pct": 0}
"""A reserve of nothing but what comes while a replica starts."""


def run(*arguments: str, code: int = 0) -> Result:
    result = CliRunner().invoke(warmline, ["size", *arguments])
    assert "Traceback" not in result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    assert result.exit_code == code, result.output
    return result


def write_request(folder: Path, load: dict[str, Any], **sections: Any) -> None:
    """One request of one class against `support-bot`; the file is JSON, which is YAML."""
    write_classes(folder, {"chat": KNOWN | load}, **sections)


def write_classes(folder: Path, classes: dict[str, Any], **sections: Any) -> None:
    workload = {"service": "support-bot", "profile": {"classes": classes}, **sections}
    (folder / "workloads.yaml").write_text(json.dumps({"workloads": {"bot": workload}}))


def change_service(folder: Path, **fields: Any) -> None:
    """Set fields of the service in platform.yaml, `capacity={...}` merged into what is there.

    The record beside the shipped evidence goes: it is of the service as it is shipped.
    """
    (folder / "benchmarks" / "serving.yaml").unlink(missing_ok=True)
    path = folder / "platform.yaml"
    platform = yaml.safe_load(path.read_text())
    service = platform["services"]["support-bot"]
    for name, value in fields.items():
        service[name] = service[name] | value if isinstance(value, dict) else value
    path.write_text(yaml.safe_dump(platform, sort_keys=False))


def planned(code: int = 0) -> dict[str, Any]:
    """The first request's plan as data."""
    data = json.loads(run("plan", "-s", "local", "-o", "json", code=code).stdout)
    first: dict[str, Any] = data["workloads"][0] | {name: data[name] for name in ("findings", "settings", "diff")}
    return first
