"""A stack's files on disk, changed as a test wants them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

from stacks.loader import Stack, load_stack

LOCAL = Path(__file__).parents[2] / "stacks" / "local"
Edit = Callable[[str], str]


def write_stack(root: Path, *, platform: Edit | None = None, events: Edit | None = None) -> Path:
    """Copy stack local below `root` as stack local, each file through its edit."""
    folder = root / "local"
    shutil.copytree(LOCAL, folder, dirs_exist_ok=True)
    for name, edit in (("platform.yaml", platform), ("events.yaml", events)):
        if edit:
            (folder / name).write_text(edit((LOCAL / name).read_text()))
    return folder


def stack(root: Path, *, platform: Edit | None = None, events: Edit | None = None) -> Stack:
    write_stack(root, platform=platform, events=events)
    return load_stack("local", root)


def swap(old: str, new: str) -> Edit:
    """Replace `old`, which must be there once."""

    def edit(text: str) -> str:
        assert text.count(old) == 1, f"{old!r} is there {text.count(old)} times"
        return text.replace(old, new)

    return edit


def all_of(*edits: Edit) -> Edit:
    def edit(text: str) -> str:
        for one in edits:
            text = one(text)
        return text

    return edit


def calendar(*events: str, timezone: str = "Asia/Kolkata", margin_s: int = 1500) -> Edit:
    """A calendar of events given as flow mappings; `SERVICES` in them stands for the usual demand."""
    services = "services: {support-bot: {rps: 26.7, request_duration_s: 7.8}}"
    lines = [f"  - {{{event.replace('SERVICES', services)}}}" for event in events]
    head = [f"timezone: {timezone}", f"ready_margin_s: {margin_s}", "events:" if lines else "events: []"]
    return lambda _: "\n".join([*head, *lines]) + "\n"
