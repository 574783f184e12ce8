"""`python -m sandbox.engine --pod-ip 127.10.1.2 [--timing JSON] -- [the container's command and arguments]`."""

from __future__ import annotations

import argparse
import asyncio
import sys

from sandbox.engine.arguments import arguments_from
from sandbox.engine.server import serve
from sandbox.engine.timing import timing_from_json


def main(argv: list[str]) -> int:
    """Split the double's own options from the container's command, then serve."""
    own, container = (argv[: argv.index("--")], argv[argv.index("--") + 1 :]) if "--" in argv else (argv, [])
    parser = argparse.ArgumentParser(prog="python -m sandbox.engine", allow_abbrev=False)
    parser.add_argument("--pod-ip", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--timing", type=timing_from_json, default="{}", help="JSON: see sandbox/engine/timing.py")
    parser.add_argument("--die-with-parent", type=int, metavar="PID", help="SIGKILL when this parent dies")
    given = parser.parse_args(own)
    arguments = arguments_from(container)
    if given.die_with_parent:
        # Imported here alone: an engine started by hand outlives its shell and needs no ctypes.
        from sandbox.processes.parent_death import die_with_parent

        die_with_parent(given.die_with_parent)
    return asyncio.run(serve(arguments, given.timing, given.pod_ip))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
