"""Where stacks are: one folder each, with its files, and how a path is told to a person."""

from __future__ import annotations

import os
import re
from pathlib import Path

from stacks.faults import Fault, InputError

PLATFORM_FILE = "platform.yaml"
EVENTS_FILE = "events.yaml"

# The stack's name is a label's value on every object, and selects them.
STACK_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9._]{0,61}[A-Za-z0-9])?")


def shown(path: Path) -> str:
    """`path` as a person in the working directory would type it."""
    try:
        return str(path.resolve().relative_to(Path.cwd().resolve()))
    except (ValueError, RuntimeError):  # elsewhere, or a link to itself
        return str(path)


def stacks_root(start: Path | None = None) -> Path:
    """The folder that holds one folder per stack.

    `WARMLINE_STACKS_DIR` says it (a rehearsal plays a derived stack from there); else `stacks/` beside the
    nearest Pulumi.yaml from the working directory up; else `stacks/` of the working directory.
    """
    if said := os.environ.get("WARMLINE_STACKS_DIR"):
        return Path(said)
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if (folder / "Pulumi.yaml").is_file():
            return folder / "stacks"
    return here / "stacks"


def stack_folder(stack: str, root: Path | None = None) -> Path:
    """The folder of one stack.

    Raises:
        InputError: there is none, or its name is no stack's.
    """
    base = root or stacks_root()
    folder = base / stack
    if not stack or Path(stack).name != stack or not folder.is_dir():
        known = sorted(path.parent.name for path in base.glob(f"*/{PLATFORM_FILE}"))
        expected = f"one of {', '.join(known)}" if known else f"a folder with a {PLATFORM_FILE}"
        fix = "Name it with -s/--stack or WARMLINE_STACK, from inside the repository."
        raise InputError([Fault(shown(base), 0, "", f"no stack {stack!r}", expected, fix)])
    if not STACK_NAME.fullmatch(stack):
        expected = "at most 63 letters, digits, dots, hyphens and underscores, a letter or digit at both ends"
        raise InputError([Fault(shown(folder), 0, "", f"the stack name {stack!r}", expected, "Rename the folder.")])
    return folder
