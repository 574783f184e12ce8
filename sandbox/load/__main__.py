"""`python -m sandbox.load --url http://127.0.0.1:8080 --model support-bot 60:5.3 120:26.7 --out load.jsonl`."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from sandbox.load.play import DEFAULT_OUTPUT_TOKENS, DEFAULT_PROMPT_TOKENS, MAX_LATENESS_P99_S, run
from sandbox.load.schedule import aiperf_trace, arrivals_s, phases_from
from sandbox.processes.priority import go_first


def _phase(text: str) -> tuple[float, float]:
    seconds, _, rps = text.partition(":")
    try:
        return float(seconds), float(rps)
    except ValueError as failure:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected SECONDS:RPS, for example 60:5.3") from failure


def main(argv: list[str]) -> int:
    """Play, print the summary; exit 1 if the generator itself was late, 2 on bad input."""
    parser = argparse.ArgumentParser(prog="python -m sandbox.load", allow_abbrev=False)
    parser.add_argument("schedule", nargs="+", type=_phase, metavar="SECONDS:RPS")
    parser.add_argument("--url", default="", help="loopback address of the balancer or of one engine")
    parser.add_argument("--model", default="", help="served model name")
    parser.add_argument("--host-header", default="", help="<service>.<namespace>, what the balancer routes by")
    parser.add_argument("--out", type=Path, help="JSONL, one record for each request")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--trace", type=Path, help="write the schedule as AIPerf's trace to this file and send nothing")
    given = parser.parse_args(argv)
    if not given.trace and not (given.url and given.model):
        parser.error("--url and --model are needed, or --trace")
    try:
        if given.trace:
            arrivals = arrivals_s(phases_from(given.schedule), given.seed)
            given.trace.write_text(aiperf_trace(arrivals, DEFAULT_PROMPT_TOKENS, DEFAULT_OUTPUT_TOKENS))
            return 0
        go_first()
        played = run(
            given.schedule,
            given.url,
            given.model,
            given.out,
            seed=given.seed,
            host_header=given.host_header,
            progress=sys.stderr,
        )
    except ValueError as failure:
        sys.stderr.write(f"{failure}\n")
        return 2
    print(json.dumps(asdict(played.summary), indent=2))
    print(f"generator: {100 * played.cpu_s / played.wall_s:.0f} % of one core")
    if not played.is_open_loop:
        late_s = played.summary.lateness_p99_s
        sys.stderr.write(f"not open loop: sent {late_s:.3f} s late at p99, allowed {MAX_LATENESS_P99_S} s\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
