"""A crontab that runs the pre-scaler every few minutes.

Source: cron of Debian 12 (crontab(5)): an unescaped `%` ends the command, and variables are set line by line.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from prescale.schedule.rendering import render
from stacks.folders import stacks_root

# Less than the shortest period: a run that hangs is over before the next is due.
SLACK_S = 10
KILL_AFTER_S = 5

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where credential plugins are looked for: cron's own PATH is shorter."""


@dataclass(frozen=True)
class Host:
    """What is where on the machine, by absolute paths. `variables` are the run's, beside PATH."""

    warmline: Path
    flock: Path
    timeout: Path
    path: str
    variables: Mapping[str, str]


def this_host() -> Host:
    """Where things are here, and which stacks and kubeconfig a run from here would take."""
    variables = {"WARMLINE_STACKS_DIR": str(stacks_root().absolute())}
    if said := os.environ.get("KUBECONFIG"):
        parts = (Path(part).absolute() for part in said.split(os.pathsep) if part)
        variables["KUBECONFIG"] = os.pathsep.join(map(str, parts))
    return Host(
        warmline=Path(sys.executable).with_name("warmline"),
        flock=Path(shutil.which("flock") or "/usr/bin/flock"),
        timeout=Path(shutil.which("timeout") or "/usr/bin/timeout"),
        path=PATH,
        variables=variables,
    )


def crontab(stacks: Sequence[str], every_min: int, host: Host, log_file: Path, options: Sequence[str]) -> str:
    """The crontab's text.

    Args:
        log_file: where the runs' lines go; lock and errors are beside it.
        options: further ones of `warmline prescale sync`.
    """
    folder = log_file.parent
    sync = [str(host.warmline), "prescale", "sync", *(f"--stack={name}" for name in stacks)]
    bounded = [str(host.timeout), f"--kill-after={KILL_AFTER_S}", str(every_min * 60 - SLACK_S)]
    alone = [str(host.flock), "--nonblock", str(folder / "prescale.lock")]
    command = shlex.join([*alone, *bounded, *sync, f"--log-file={log_file}", *options])
    line = f"{command} >/dev/null 2>>{shlex.quote(str(folder / 'prescale.err'))}"
    return render(
        "crontab.j2",
        stacks=stacks,
        every_min=every_min,
        folder=folder,
        path=host.path,
        variables=host.variables,
        command=line.replace("%", r"\%"),
    )
