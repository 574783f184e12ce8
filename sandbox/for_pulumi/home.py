"""Make plain `pulumi` work against the sandbox: its own home, state, provider, language host, and its stack made."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from sandbox.faults import SandboxError
from sandbox.layout import Layout
from sandbox.places import REPOSITORY, users_path
from sandbox.toolchain.find import find
from sandbox.toolchain.tools import tool_named

_PROVIDER = "pulumi-resource-kubernetes"
_LANGUAGE_HOST = "pulumi-language-python"

# Not a secret: it protects the state of a fake cluster that is deleted with it. Pulumi wants one, and the same one
# each time, because stacks/Pulumi.local.yaml holds the salt it is checked against (and so does a copy of it).
_PASSPHRASE = "warmline-sandbox"  # noqa: S105


def has_official_pulumi() -> bool:
    """Whether PATH has a Pulumi that came with its own Python language host, as the official install does."""
    return find(tool_named("pulumi")) is not None and shutil.which(_LANGUAGE_HOST, path=users_path()) is not None


def tools(report: Callable[[str], None]) -> tuple[str, ...]:
    """What Pulumi needs from the toolchain here. The official one fetches its provider itself, at the first `up`."""
    if has_official_pulumi() and find(tool_named(_PROVIDER)) is None:
        report(f"the Pulumi on PATH will fetch its Kubernetes provider {tool_named(_PROVIDER).version} itself")
        return ("pulumi",)
    return ("pulumi", _PROVIDER)


def environment(layout: Layout) -> dict[str, str]:
    return {
        "PULUMI_HOME": str(layout.pulumi_home),
        "PULUMI_BACKEND_URL": f"file://{layout.pulumi_state}",
        "PULUMI_CONFIG_PASSPHRASE": _PASSPHRASE,
        "PULUMI_SKIP_UPDATE_CHECK": "1",
        "PULUMI_ERROR_OUTPUT_STRING": "1",
    }


def stack_file(stack: str) -> Path:
    """Pulumi's own file of a stack: secrets and provider settings."""
    return REPOSITORY / "stacks" / f"Pulumi.{stack}.yaml"


def is_of_another_backend(stack: str) -> bool:
    """Whether the stack's secrets are another provider's: `pulumi stack init` would write ours over it."""
    path = stack_file(stack)
    return (
        path.is_file() and re.search(r"^secretsprovider:(?! *passphrase\b)", path.read_text(), re.MULTILINE) is not None
    )


def prepare(layout: Layout, paths: Mapping[str, Path], report: Callable[[str], None], stack: str) -> None:
    """Provider and language host where Pulumi looks for them, and `stack` made, with a file of its own.

    Raises:
        SandboxError: Pulumi refused; carries what it said.
    """
    for folder in (layout.pulumi_home, layout.pulumi_state):
        folder.mkdir(mode=0o700, parents=True)
    provider = paths.get(_PROVIDER)
    if provider:
        home = layout.pulumi_home / "plugins" / f"resource-kubernetes-v{tool_named(_PROVIDER).version}"
        home.mkdir(parents=True)
        (home / _PROVIDER).symlink_to(provider)
    if shutil.which(_LANGUAGE_HOST, path=users_path()) is None:
        _write_language_host(layout.bin / _LANGUAGE_HOST)
    if not (REPOSITORY / "Pulumi.yaml").exists():
        report("  no Pulumi.yaml here: stack not made")
        return
    if not stack_file(stack).exists():
        # Without it Pulumi writes one that lets a resource without a provider go to whatever cluster is current.
        shutil.copy(stack_file("local"), stack_file(stack))
        report(f"  {stack_file(stack).relative_to(REPOSITORY)} is new, a copy of stack local's")
    _make_stack(layout, paths["pulumi"], stack)
    report(f"  Pulumi's stack {stack} is ready")


def _write_language_host(path: Path) -> None:
    # -P: the directory somebody happens to be in must not shadow a module.
    python, root = shlex.quote(sys.executable), shlex.quote(str(REPOSITORY))
    path.write_text(f'#!/bin/sh\nPYTHONPATH={root} exec {python} -P -m sandbox.for_pulumi.language_host "$@"\n')
    path.chmod(0o700)


def _make_stack(layout: Layout, pulumi: Path, stack: str) -> None:
    complete = {**os.environ, **environment(layout), "PATH": f"{layout.bin}{os.pathsep}{os.environ.get('PATH', '')}"}
    command = [str(pulumi), "stack", "init", stack, "--non-interactive", "--color", "never"]
    try:
        result = subprocess.run(
            command, cwd=REPOSITORY, env=complete, capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise SandboxError(f"{' '.join(command)}: {error}") from None
    if result.returncode != 0:
        said = f"{' '.join(command)} ended with {result.returncode}:\n{result.stderr.strip()}"
        if "incorrect passphrase" in said:
            said += f"\n{stack_file(stack)} is another Pulumi backend's: use a stack of its own for the sandbox."
        raise SandboxError(said)
