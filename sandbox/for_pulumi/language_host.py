"""A small Pulumi language host for Python programs, for machines without the official one.

The engine starts it as `pulumi-language-python`, reads its port from the first line it prints, and asks it over gRPC
to run the program. It does what `pulumi up` of this project needs, and no more: no packages, no plugins, no debugger.

Source: pulumirpc.LanguageRuntime in pulumi's proto/pulumi/language.proto.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import FrameType
from typing import Any

import grpc
from google.protobuf.empty_pb2 import Empty
from pulumi.runtime.proto import language_pb2, language_pb2_grpc, plugin_pb2

from sandbox.places import REPOSITORY

# The program has told the user what is wrong already; the engine adds nothing then.
SHOWN_TO_USER = 32

# Property values of large manifests pass through; the engine sets the same bound.
_LONGEST_MESSAGE_BYTES = 400 * 1024 * 1024


class LanguageHost(language_pb2_grpc.LanguageRuntimeServicer):
    """Answers the engine. `engine` is its address, for the program's own log messages."""

    def __init__(self, engine: str) -> None:
        self.engine = engine
        self._programs: set[subprocess.Popen[bytes]] = set()

    def Handshake(self, request: Any, context: Any) -> language_pb2.LanguageHandshakeResponse:  # noqa: N802
        self.engine = request.engine_address or self.engine
        return language_pb2.LanguageHandshakeResponse()

    def About(self, request: Any, context: Any) -> language_pb2.AboutResponse:  # noqa: N802
        return language_pb2.AboutResponse(executable=sys.executable, version=platform.python_version())

    def GetPluginInfo(self, request: Any, context: Any) -> plugin_pb2.PluginInfo:  # noqa: N802
        return plugin_pb2.PluginInfo(version=importlib.metadata.version("pulumi"))

    def GetRequiredPackages(self, request: Any, context: Any) -> language_pb2.GetRequiredPackagesResponse:  # noqa: N802
        # None: the provider is in Pulumi's home already, and asking for it would make the engine look on the internet.
        return language_pb2.GetRequiredPackagesResponse()

    def GetRequiredPlugins(self, request: Any, context: Any) -> language_pb2.GetRequiredPluginsResponse:  # noqa: N802
        return language_pb2.GetRequiredPluginsResponse()

    def GetProgramDependencies(self, request: Any, context: Any) -> language_pb2.GetProgramDependenciesResponse:  # noqa: N802
        return language_pb2.GetProgramDependenciesResponse(
            dependencies=[
                language_pb2.DependencyInfo(name=name, version=importlib.metadata.version(name))
                for name in ("pulumi", "pulumi-kubernetes")
            ]
        )

    def InstallDependencies(self, request: Any, context: Any) -> Any:  # noqa: N802
        yield from ()  # the interpreter that runs this has them

    def Cancel(self, request: Any, context: Any) -> Empty:  # noqa: N802
        self.stop()
        return Empty()

    def Run(self, request: Any, context: Any) -> language_pb2.RunResponse:  # noqa: N802
        """Run the program in a process of its own; its output is this process's, which the engine shows."""
        settings = {
            "monitor": request.monitor_address,
            "engine": self.engine,
            "project": request.project,
            "stack": request.stack,
            "parallel": request.parallel,
            "dry_run": request.dryRun,
            "organization": request.organization,
            "root_directory": request.info.root_directory,
        }
        environment = {
            **os.environ,
            "PULUMI_CONFIG": json.dumps(dict(request.config)),
            "PULUMI_CONFIG_SECRET_KEYS": json.dumps(list(request.configSecretKeys)),
            "PYTHONUNBUFFERED": "1",
        }
        program = Path(request.info.program_directory or request.pwd, request.info.entry_point or ".")
        command = [sys.executable, "-P", "-m", "sandbox.for_pulumi.language_program"]
        arguments = [json.dumps(settings), str(program), *request.args]
        child = subprocess.Popen([*command, *arguments], cwd=request.pwd or None, env=environment)
        self._programs.add(child)
        code = child.wait()
        self._programs.discard(child)
        if code == SHOWN_TO_USER:
            return language_pb2.RunResponse(bail=True)
        return language_pb2.RunResponse(error="" if code == 0 else f"Program exited with non-zero exit code: {code}")

    def stop(self) -> None:
        """End the programs that still run."""
        for child in list(self._programs):
            child.terminate()


def main(arguments: list[str]) -> int:
    """Serve until the engine goes away. The engine gives its address as the last argument that is not an option."""
    addresses = [argument for argument in arguments if not argument.startswith("-")]
    host = LanguageHost(addresses[-1] if addresses else "")
    options = [
        ("grpc.max_receive_message_length", _LONGEST_MESSAGE_BYTES),
        ("grpc.max_send_message_length", _LONGEST_MESSAGE_BYTES),
    ]
    server = grpc.server(ThreadPoolExecutor(max_workers=8), options=options)
    language_pb2_grpc.add_LanguageRuntimeServicer_to_server(host, server)
    port = server.add_insecure_port("127.0.0.1:0")
    over = threading.Event()

    def leave(_number: int, _frame: FrameType | None) -> None:
        over.set()

    # Ctrl-C reaches the whole terminal group; the engine decides what becomes of the update, so this only leaves.
    signal.signal(signal.SIGINT, leave)
    signal.signal(signal.SIGTERM, leave)
    server.start()
    print(port, flush=True)
    parent = os.getppid()
    while not over.wait(timeout=1.0):
        if os.getppid() != parent:  # the engine was killed
            break
    host.stop()
    server.stop(grace=None)
    return 0


if __name__ == "__main__":
    sys.path.insert(0, str(REPOSITORY))
    sys.exit(main(sys.argv[1:]))
