"""One sandbox's directory: made its own when it begins, and cleared of all that is its when it goes."""

from __future__ import annotations

import shutil
from collections.abc import Callable

from sandbox.faults import SandboxError
from sandbox.interruption import deferred
from sandbox.layout import Layout, Settings, read_settings
from sandbox.places import write_private
from sandbox.processes.process import is_running
from sandbox.processes.record import ProcessRecord

Report = Callable[[str], None]


def begin(layout: Layout, report: Report) -> None:
    """Make the directory this sandbox's own.

    Raises:
        SandboxError: it holds somebody else's things under the names of ours; nothing of theirs is touched.
    """
    if not _is_ours(layout):
        theirs = [path.name for path in layout.owned if path.exists() or path.is_symlink()]
        if theirs:
            fix = "Name a directory of its own in WARMLINE_SANDBOX_DIR, or delete these by hand."
            raise SandboxError(f"{layout.directory} holds {', '.join(theirs)}, which no sandbox made. {fix}")
    clear_away(layout, report)
    if layout.marker.exists():
        shutil.rmtree(layout.marker.parent)
    write_private(layout.marker, "")


def _is_ours(layout: Layout) -> bool:
    """Whether a sandbox was begun in the directory; after a crash its settings need not be whole."""
    is_recorded = bool(ProcessRecord(layout.directory, "").read_what_can_be())
    return is_recorded or layout.marker.exists() or read_settings(layout) is not None


@deferred()
def clear_away(layout: Layout, report: Report) -> list[str]:
    """Stop what runs and delete what the sandbox made, logs apart. Names of what was recorded as running."""
    if not _is_ours(layout):
        return []
    settings = read_settings(layout)
    record = ProcessRecord(layout.directory, settings.mark if settings else "")
    dead = [process.name for process in record.read_what_can_be() if not is_running(process)]
    if dead:
        report(f"no longer running: {', '.join(dead)}; clearing away the rest")
    stopped = record.stop_all() + dead
    # Never "everything in there": somebody may name a directory that holds other things.
    for path in layout.owned:
        is_folder = path.is_dir() and not path.is_symlink()
        shutil.rmtree(path) if is_folder else path.unlink(missing_ok=True)
    return stopped


def record_of(layout: Layout, settings: Settings) -> ProcessRecord:
    return ProcessRecord(layout.directory, settings.mark)
