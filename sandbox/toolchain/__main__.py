"""`python -m sandbox.toolchain [TOOL...]`: get these tools (all by default) and print where they are."""

from __future__ import annotations

import sys

from sandbox.faults import ToolError
from sandbox.toolchain.ensure import ensure
from sandbox.toolchain.tools import NAMES


def main(arguments: list[str]) -> int:
    unknown = [name for name in arguments if name not in NAMES]
    if unknown:
        print(f"unknown tool: {', '.join(unknown)}. Known: {', '.join(NAMES)}", file=sys.stderr)
        return 2
    try:
        paths = ensure(arguments or NAMES, lambda line: print(line, file=sys.stderr, flush=True))
    except ToolError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; what is built stays built, and the rest goes on from here next time", file=sys.stderr)
        return 130
    for name, path in paths.items():
        print(f"{name:28} {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
