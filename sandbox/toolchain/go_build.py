"""Build one tool from its pinned Go module, in scratch space of its own, and put it in the cache in one step."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from sandbox.faults import ToolError
from sandbox.toolchain.tools import MODULES, Tool

_STILL_BUILDING_S = 60.0
_LAST_LINES = 12


@dataclass(frozen=True)
class Workshop:
    """A Go, and the scratch directory its caches live in; `clear` gives the disk back."""

    go: Path
    scratch: Path

    def environment(self) -> dict[str, str]:
        """The caller's GOFLAGS, GOPROXY and GOSUMDB stay; caches and versions are pinned."""
        own = {
            "GOCACHE": str(self.scratch / "gocache"),
            "GOMODCACHE": str(self.scratch / "mod"),
            "GOTOOLCHAIN": "local",
            "GOWORK": "off",
            "CGO_ENABLED": "0",  # no C compiler needed, and the same binary on every distribution
        }
        return {**{key: value for key, value in os.environ.items() if key != "GOROOT"}, **own}

    def run(self, arguments: list[str], folder: Path, tool: Tool, report: Callable[[str], None]) -> str:
        """Run `go` there; its standard output.

        Raises:
            ToolError: go failed; carries the last lines it wrote.
        """
        # Builds take minutes: at low priority the machine stays usable.
        polite = ["nice", "-n", "10"] if shutil.which("nice") else []
        begun = monotonic()
        with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryFile("w+") as errors:
            process = subprocess.Popen(
                [*polite, str(self.go), *arguments],
                cwd=folder,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
            )
            try:
                while True:
                    try:
                        code = process.wait(timeout=_STILL_BUILDING_S)
                        break
                    except subprocess.TimeoutExpired:
                        report(f"  still building {tool.name}, {spoken(monotonic() - begun)} so far")
            except BaseException:
                process.terminate()
                process.wait()
                raise
            if code != 0:
                errors.seek(0)
                lines = [line for line in errors.read().splitlines() if not line.startswith("go: downloading")]
                last = "\n".join(f"    {line}" for line in lines[-_LAST_LINES:])
                raise ToolError(
                    f"{tool.name} {tool.version} could not be built: go {arguments[0]} in {folder} ended with {code}:\n"
                    f"{last}\nIf it is the network, check GOPROXY and run the command again: what is built stays built."
                )
            output.seek(0)
            return output.read()

    def clear(self) -> None:
        """Delete the caches. Files of the module cache are read-only by design, so modes are given back first."""
        for folder, _, _ in os.walk(self.scratch):
            Path(folder).chmod(0o700)
        shutil.rmtree(self.scratch, ignore_errors=True)


def spoken(seconds: float) -> str:
    """`75.2` -> `1 min 15 s`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def build(tool: Tool, target: Path, workshop: Workshop, report: Callable[[str], None]) -> None:
    """Make `target`, a binary or (for a tool with a `source`) a folder. Half a build never has the final name.

    Raises:
        ToolError: see Workshop.run.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f".{target.name}.{os.getpid()}.part")
    folder = workshop.scratch / "module" / tool.module
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(MODULES / tool.module, folder)  # builds write nothing into the repository
    try:
        if tool.source:
            shutil.copytree(_folder_of(tool.source, folder, tool, workshop, report), partial, copy_function=shutil.copy)
            partial.chmod(0o755)
        else:
            for embed in tool.embeds:
                _write_provider_embeds(_folder_of(embed, folder, tool, workshop, report), folder, tool.version)
            if tool.edited:
                _edit(_folder_of(tool.edited, folder, tool, workshop, report), folder / "edited", tool)
            flags = " ".join(("-s -w", *tool.ldflags))
            arguments = ["build", "-mod=readonly", "-trimpath", "-ldflags", flags, "-o", str(partial)]
            arguments += [*(["-tags", ",".join(tool.tags)] if tool.tags else []), tool.package]
            workshop.run(arguments, folder, tool, report)
        partial.replace(target)
    finally:
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)
        shutil.rmtree(folder, ignore_errors=True)


def _folder_of(source: str, folder: Path, tool: Tool, workshop: Workshop, report: Callable[[str], None]) -> Path:
    """`module:path` as a directory of the module cache, downloaded when it is not there."""
    module, _, path = source.partition(":")
    # The version is the one go.mod pins; `go mod download` without one would also be that, and says where it put it.
    printed = workshop.run(["mod", "download", "-json", module], folder, tool, report)
    return Path(str(json.loads(printed)["Dir"])) / path


def _edit(shipped: Path, folder: Path, tool: Tool) -> None:
    """Copy a package, or some of its files, and replace texts in it, each of which must be there exactly once."""
    folder.mkdir()
    names = tool.edited_files or [path.name for path in shipped.glob("*.go") if not path.name.endswith("_test.go")]
    sources = {name: (shipped / name).read_text() for name in names}
    for old, new in tool.edits:
        holders = [name for name, text in sources.items() if text.count(old) == 1]
        if len(holders) != 1:
            raise ToolError(
                f"{tool.name} {tool.version}: {old!r} is not once in {shipped}. Correct sandbox/toolchain/tools.py."
            )
        sources[holders[0]] = sources[holders[0]].replace(old, new)
    for name, text in sources.items():
        (folder / name).write_text(text)


def _write_provider_embeds(shipped: Path, folder: Path, version: str) -> None:
    """The Kubernetes provider embeds its schema, with its version in it; the module ships the schema without.

    Source: cmd/pulumi-resource-kubernetes/generate.go of the module, which does the same.
    """
    schema = json.loads((shipped / "schema.json").read_text())
    schema["version"] = version
    mapping = json.loads((shipped / "terraform-mapping.json").read_text())
    for name, content in (("schema", schema), ("terraform-mapping", mapping)):
        (folder / f"{name}-embed.json").write_text(json.dumps(content, separators=(",", ":")))
