"""Where the sandbox keeps things: one directory per sandbox, one cache of built tools per user."""

from __future__ import annotations

import os
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent

SETTINGS = "settings.json"  # in the directory of every sandbox that is up

CONTEXT = "warmline-sandbox"  # the kubeconfig context, and the only one of a stack that has a sandbox


def sandbox_directory() -> Path:
    """`$WARMLINE_SANDBOX_DIR`, else `$XDG_STATE_HOME/warmline/sandbox`, else `~/.local/state/warmline/sandbox`."""
    own = os.environ.get("WARMLINE_SANDBOX_DIR")
    if own:
        return Path(own).absolute()
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state).absolute() / "warmline" / "sandbox"


def cache_directory() -> Path:
    """`$XDG_CACHE_HOME/warmline`, else `~/.cache/warmline`."""
    cache = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(cache).absolute() / "warmline"


def users_path() -> str:
    """PATH without the bin directory of any sandbox: what is linked there goes when that sandbox goes."""
    entries = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(entry for entry in entries if not (Path(entry).parent / SETTINGS).exists())


def write_private(path: Path, content: str | bytes) -> Path:
    """Write a file that only its owner may read (0600), whole or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    data = content.encode() if isinstance(content, str) else content
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    partial.replace(path)
    return path
