"""The stack's files as a pod reads them: a ConfigMap's data, and where each file is mounted."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from stacks.faults import Fault, InputError
from stacks.folders import EVENTS_FILE, PLATFORM_FILE, shown
from stacks.loader import load_calendar_spec, load_stack

# Source: Kubernetes 1.34, ConfigMap: the data of one may not exceed 1 MiB.
MOST_BYTES = 2**20

# A run reads of the evidence that it is there; what it says was judged where this was rendered.
EVIDENCE_KEY = "evidence"
EVIDENCE_TEXT = "Judged where the ConfigMap was made; see the stack's folder.\n"


@dataclass(frozen=True)
class StackFiles:
    """`data` is key -> text, `paths` key and path below the stack's folder of each file that is mounted."""

    data: dict[str, str]
    paths: tuple[tuple[str, str], ...]


def stack_files(stack: str) -> StackFiles:
    """What `warmline prescale sync` reads of a stack.

    Raises:
        InputError: the files have faults, they are more than a ConfigMap holds, or one lies outside of the folder.
    """
    loaded = load_stack(stack)
    folder = loaded.folder
    evidence = sorted({service.capacity.evidence for service in loaded.platform.services.values()})
    calendars = {f"calendar-{row}.ics": one.file for row, one in enumerate(load_calendar_spec(stack).calendars)}
    read = {PLATFORM_FILE: PLATFORM_FILE, EVENTS_FILE: EVENTS_FILE, **calendars}
    faults = [_outside(folder, path) for path in (*calendars.values(), *evidence) if not _is_inside(path)]
    data = {key: (folder / path).read_bytes().decode(errors="replace") for key, path in read.items()}
    size = sum(len(text.encode()) for text in data.values()) + len(EVIDENCE_TEXT)
    if size > MOST_BYTES:
        expected = f"at most {MOST_BYTES} bytes in all, which is what a ConfigMap holds"
        fix = "Remove events that are long over, or let cron or CI run the pre-scaler: they read the files themselves."
        faults.append(Fault(shown(folder), 0, "", f"files of {size} bytes", expected, fix))
    if faults:
        raise InputError(faults)
    data[EVIDENCE_KEY] = EVIDENCE_TEXT
    return StackFiles(data, (*read.items(), *((EVIDENCE_KEY, path) for path in evidence)))


def _is_inside(path: str) -> bool:
    return not path.startswith("/") and ".." not in PurePosixPath(path).parts


def _outside(folder: Path, path: str) -> Fault:
    expected = "every file in the stack's own folder: a pod sees no other"
    return Fault(shown(folder), 0, "", f"the file {path}", expected, "Move it there.")
