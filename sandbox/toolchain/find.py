"""Where a tool is already: on PATH, among the plugins of the user's Pulumi, or in the per-user cache."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from sandbox.places import cache_directory, users_path
from sandbox.toolchain.tools import Tool, cache_key, is_accepted


def on_path(tool: Tool) -> Path | None:
    """The user's own copy on PATH, when it says it is of a right version."""
    if not tool.ask:
        return None
    found = shutil.which(tool.name, path=users_path())
    if not found:
        return None
    try:
        result = subprocess.run([found, *tool.ask], capture_output=True, text=True, timeout=30, check=False, cwd="/")
    except (OSError, subprocess.SubprocessError):
        return None
    return Path(found) if is_accepted(tool, result.stdout + result.stderr) else None


def in_cache(tool: Tool) -> Path | None:
    """The copy in the per-user cache that the pinned module as it is now would give."""
    path = cache_directory() / "bin" / cache_key(tool)
    if not path.exists():
        return None
    os.utime(path)  # in use; see _delete_unused
    return path


def in_pulumi_plugins(tool: Tool) -> Path | None:
    """The provider that the user's own Pulumi installed, of exactly our version."""
    kind, separator, name = tool.name.partition("pulumi-resource-")
    if kind or not separator:
        return None
    home = Path(os.environ.get("PULUMI_HOME") or Path.home() / ".pulumi")
    path = home / "plugins" / f"resource-{name}-v{tool.version}" / tool.name
    return path if path.exists() else None


def find(tool: Tool) -> Path | None:
    """Where the tool is already, or None."""
    return on_path(tool) or in_pulumi_plugins(tool) or in_cache(tool)
