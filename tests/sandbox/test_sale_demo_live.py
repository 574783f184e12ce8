"""The demo leaves nothing behind, however it ends."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import lifecycle
from sandbox.layout import Layout, read_settings
from sandbox.places import REPOSITORY
from sandbox.processes.process import marked
from tests.sandbox.waiting import PATIENCE_S

pytestmark = pytest.mark.sandbox

# A runner in the background ignores SIGINT, and what it starts inherits that.
PROGRAM = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); from cli.main import main; main()"


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGINT, "nobody reads on"])
def test_a_demo_that_is_ended_stops_what_it_started(tmp_path: Path, way: signal.Signals | str) -> None:
    argv = [sys.executable, "-c", PROGRAM, "sandbox", "demo", "--out", str(tmp_path / "out")]
    demo = subprocess.Popen(argv, cwd=REPOSITORY, stderr=subprocess.PIPE, text=True)
    assert demo.stderr is not None
    said = []
    for line in demo.stderr:
        said.append(line)
        if "kube-apiserver is ready" in line:
            break
    settings = read_settings(Layout(tmp_path / "out" / "sandbox"))
    assert settings is not None, "".join(said)
    assert marked(settings.mark)
    if isinstance(way, signal.Signals):
        demo.send_signal(way)
    else:
        demo.stderr.close()
        demo.stderr = None
    try:
        rest = demo.communicate(timeout=PATIENCE_S)[1] or ""
    except subprocess.TimeoutExpired:
        demo.kill()
        lifecycle.down(lambda line: None, tmp_path / "out" / "sandbox")
        raise
    assert demo.returncode == 128 + (way if isinstance(way, signal.Signals) else signal.SIGPIPE)
    assert "Traceback" not in rest
    assert marked(settings.mark) == []
