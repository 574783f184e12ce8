"""Get every tool the sandbox runs: from PATH, from the per-user cache, else built from its pinned Go module."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic, time

from sandbox.places import cache_directory
from sandbox.processes.lock import held
from sandbox.toolchain.find import find, in_cache
from sandbox.toolchain.go_build import Workshop, build, spoken
from sandbox.toolchain.go_language import find_go
from sandbox.toolchain.tools import TOOLS, Tool, cache_key, tool_named

Report = Callable[[str], None]

# Measured: what Go's build cache and module cache grow to for the largest module, KEDA's. Modules are built one after
# the other and the caches emptied in between; they share little but the standard library, and 17 GB is what all
# together would take.
_SCRATCH_MB = 6_000
_UNUSED_S = 30 * 24 * 3600


def ensure(names: Iterable[str], report: Report) -> dict[str, Path]:
    """Path of each named tool, built first if it is nowhere.

    Two processes that call this build nothing twice: the second waits for the first.

    Raises:
        ToolError: a tool could not be built; says which, go's last lines, and what to do.
    """
    tools = [tool_named(name) for name in names]
    paths = {tool.name: path for tool in tools if (path := find(tool))}
    missing = [tool for tool in TOOLS if tool in tools and tool.name not in paths]
    if missing:
        lock = cache_directory() / "build.lock"
        with held(lock, report, f"another process is building tools (it holds {lock}); waiting for it"):
            # Somebody else may have built them while we waited.
            missing = [tool for tool in missing if not in_cache(tool)]
            if missing:
                _build_all(missing, report)
        paths |= {tool.name: cache_directory() / "bin" / cache_key(tool) for tool in tools if tool.name not in paths}
    return {tool.name: paths[tool.name] for tool in tools}


def _build_all(missing: list[Tool], report: Report) -> None:
    cache = cache_directory()
    workshop = Workshop(find_go(report), cache / "build")
    binaries = [tool for tool in missing if not tool.source]
    kept, minutes = sum(tool.mb for tool in missing), sum(tool.minutes for tool in missing)
    report(
        f"building {len(binaries)} programs that are neither on PATH nor in the cache: "
        f"about {max(1, round(minutes))} min on two cores, {kept} MB in {cache / 'bin'}, "
        f"and up to {_SCRATCH_MB / 1000:.0f} GB of scratch in {workshop.scratch}, deleted as it goes"
    )
    cache.mkdir(parents=True, exist_ok=True)
    for stale in (cache / "bin").glob(".*.part"):  # of a build that was killed; we hold the lock
        shutil.rmtree(stale) if stale.is_dir() else stale.unlink()
    free_mb = shutil.disk_usage(cache).free // 1_000_000
    if free_mb < kept + _SCRATCH_MB:
        report(f"  warning: {free_mb / 1000:.1f} GB free there; set XDG_CACHE_HOME to a larger disk if this fails")
    begun = monotonic()
    for number, tool in enumerate(missing, 1):
        if number > 1 and missing[number - 2].module != tool.module:
            workshop.clear()
        at = monotonic()
        report(f"[{number}/{len(missing)}] {tool.name} {tool.version}")
        target = cache / "bin" / cache_key(tool)
        build(tool, target, workshop, report)
        size_mb = sum(path.stat().st_size for path in [target, *target.glob("*")] if path.is_file()) / 1e6
        report(f"[{number}/{len(missing)}] {tool.name} {tool.version}: {spoken(monotonic() - at)}, {size_mb:.0f} MB")
    _delete_unused(cache / "bin")
    workshop.clear()
    report(f"built in {spoken(monotonic() - begun)}; scratch space given back")


def _delete_unused(folder: Path) -> None:
    """Builds of other pins that nobody asked for in a month. Younger ones may be another checkout's."""
    oldest = time() - _UNUSED_S
    for path in folder.glob("*-[0-9]*-*"):
        if path.stat().st_mtime < oldest:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
