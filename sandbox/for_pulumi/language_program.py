"""Run one Pulumi program against the engine, in this process: what `pulumi-language-python-exec` does.

Arguments: settings as JSON (see language_host), the program's directory or file, the program's own arguments.
"""

from __future__ import annotations

import asyncio
import json
import logging
import runpy
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pulumi
import pulumi.runtime

from sandbox.for_pulumi.language_host import SHOWN_TO_USER
from sandbox.places import REPOSITORY

_THREADS_PER_OPERATION = 4  # as the official one has it


def run(settings: pulumi.runtime.Settings, program: Path) -> int:
    """The exit code: 0, or SHOWN_TO_USER after the engine was told what went wrong."""
    pulumi.runtime.set_all_config(pulumi.runtime.get_config_env(), pulumi.runtime.get_config_secret_keys_env())
    pulumi.runtime.configure(settings)
    # A program that fails leaves futures nobody awaits; asyncio's complaints about them would bury the error.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    threads = ThreadPoolExecutor(max_workers=max(settings.parallel or 1, 1) * _THREADS_PER_OPERATION)
    loop.set_default_executor(threads)

    def start() -> None:
        runpy.run_path(str(program), run_name="__main__")

    try:
        loop.run_until_complete(pulumi.runtime.run_in_stack(start))
    except pulumi.RunError as error:
        pulumi.log.error(str(error))
        return SHOWN_TO_USER
    except Exception:  # noqa: BLE001 - whatever the program raises is the program's to explain
        pulumi.log.error("Program failed with an unhandled exception:\n" + _own_traceback(program))
        return SHOWN_TO_USER
    finally:
        threads.shutdown(wait=True)
        loop.close()
    return 0


def _own_traceback(program: Path) -> str:
    """The traceback from the program's first frame on; what led there is not the user's."""
    frames = traceback.extract_tb(sys.exc_info()[2])
    folder = str(program if program.is_dir() else program.parent)
    for index, frame in enumerate(frames):
        if frame.filename.startswith(folder):
            return traceback.format_exc(limit=index - len(frames))
    return traceback.format_exc()


def main(arguments: list[str]) -> int:
    given, program, *rest = arguments
    values = json.loads(given)
    settings = pulumi.runtime.Settings(
        project=values["project"],
        stack=values["stack"],
        monitor=values["monitor"],
        engine=values["engine"],
        parallel=values["parallel"],
        dry_run=values["dry_run"],
        organization=values["organization"],
        root_directory=values["root_directory"] or None,
    )
    sys.path.insert(0, str(REPOSITORY))  # the program is infra/, and imports the rooms next to it
    sys.argv = [program, *rest]
    return run(settings, Path(program).resolve())


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(code)
