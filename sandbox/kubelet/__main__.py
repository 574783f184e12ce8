"""`python -m sandbox.kubelet --dir DIR [--settings FILE]`: plays the kubelet of every fake node; needs KUBECONFIG."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
import sys
from dataclasses import replace
from pathlib import Path

from lightkube import AsyncClient

from sandbox.kubelet.double import KubeletDouble
from sandbox.kubelet.settings import KubeletSettings, settings_from
from sandbox.processes.priority import go_first


async def serve(settings: KubeletSettings, directory: Path) -> int:
    """Run until SIGTERM."""
    stopping = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stopping.set)
    double = asyncio.create_task(KubeletDouble(AsyncClient(), settings, directory).run())
    stopped = asyncio.create_task(stopping.wait())
    await asyncio.wait({double, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if not stopping.is_set():
        await double
    double.cancel()
    await asyncio.gather(double, return_exceptions=True)
    return 0


def main(argv: list[str]) -> int:
    """Options win over the settings file."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.kubelet", allow_abbrev=False)
    parser.add_argument("--dir", type=Path, required=True, help="keeps disks, logs and child pids over a restart")
    parser.add_argument("--settings", type=Path, help="JSON: see sandbox/kubelet/settings.py")
    parser.add_argument("--image-pull-s", type=float)
    parser.add_argument("--weights-s", type=float)
    parser.add_argument("--engine-start-s", type=float)
    given = parser.parse_args(argv)
    try:
        settings = settings_from(given.settings)
    except ValueError as failure:
        sys.stderr.write(f"{failure}\n")
        return 2
    names = ("image_pull_s", "weights_s", "engine_start_s")
    said = {name: value for name in names if (value := getattr(given, name)) is not None}
    settings = replace(settings, times=replace(settings.times, **said))
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("httpx2").setLevel(logging.WARNING)
    go_first()
    return asyncio.run(serve(settings, given.dir.resolve()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
