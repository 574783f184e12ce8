"""The command line of vLLM as far as the double knows it: an unknown flag or a bad value ends the engine with code 2.

Source: vLLM 0.33 `vllm serve --help`, the flags a serving manifest may need. A flag that vLLM has and this table
lacks is refused too: add it here when a manifest needs it.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

from sandbox.engine.metrics import BOUNDS

VLLM_MAX_NUM_SEQS = 256
"""Slots when the manifest names none. Source: vLLM's API-server default on GPUs below 70 GiB."""

_INT_FLAGS = (
    "--max-model-len --max-num-batched-tokens --tensor-parallel-size --pipeline-parallel-size "
    "--data-parallel-size --block-size --max-log-len --num-gpu-blocks-override --stream-interval "
    "--api-server-count "
)
_FRACTION_FLAGS = ("--gpu-memory-utilization",)
_TEXT_FLAGS = (
    "--model --revision --code-revision --tokenizer --tokenizer-revision --tokenizer-mode --load-format "
    "--download-dir --dtype --kv-cache-dtype --quantization --model-loader-extra-config "
    "--safetensors-load-strategy --api-key --chat-template --scheduling-policy --uvicorn-log-level "
    "--generation-config --compilation-config --root-path --seed --cpu-offload-gb "
    "--distributed-executor-backend --kv-transfer-config --speculative-config --tool-call-parser "
    "--reasoning-parser --hf-overrides --override-generation-config --limit-mm-per-prompt --attention-backend "
)
_SWITCHES = (
    "--enable-prefix-caching --enable-chunked-prefill --async-scheduling --enable-expert-parallel "
    "--enable-log-requests --enable-auto-tool-choice --trust-remote-code --enforce-eager "
    "--disable-log-stats --enable-lora --enable-sleep-mode "
)


@dataclass(frozen=True, slots=True)
class EngineArguments:
    """What the double obeys. The other flags are checked by name and type only."""

    model_names: tuple[str, ...]
    host: str | None
    port: int
    max_num_seqs: int
    max_model_len: int | None
    gpus_needed: int
    shutdown_timeout_s: float
    max_num_queued_reqs: int | None
    max_num_queued_tokens: int | None
    histogram_bounds: Mapping[str, tuple[float, ...]]


def arguments_from(command: list[str]) -> EngineArguments:
    """Parse the container's command and arguments.

    Args:
        command: everything the container runs, e.g. ["vllm", "serve", "support-8b", "--port", "8000"]; without a
            program name the image's own entrypoint `vllm serve` is meant.

    Raises:
        SystemExit: code 2 for an unknown flag, a bad value or an unknown program, with the reason on stderr.
    """
    parser = _parser()
    given = parser.parse_args(_without_program(command, parser))
    model = given.model or given.model_tag or "Qwen/Qwen3-0.6B"
    return EngineArguments(
        model_names=tuple(given.served_model_name or [model]),
        host=given.host,
        port=given.port,
        max_num_seqs=given.max_num_seqs,
        max_model_len=given.max_model_len,
        gpus_needed=(given.tensor_parallel_size or 1) * (given.pipeline_parallel_size or 1),
        shutdown_timeout_s=given.shutdown_timeout,
        max_num_queued_reqs=given.max_num_queued_reqs,
        max_num_queued_tokens=given.max_num_queued_tokens,
        histogram_bounds=given.custom_histogram_buckets,
    )


def _without_program(command: list[str], parser: argparse.ArgumentParser) -> list[str]:
    if not command or command[0].startswith("-"):
        return command
    program = command[0].rsplit("/", 1)[-1]
    if program == "vllm":
        if command[1:2] != ["serve"]:
            parser.error(f"vllm {' '.join(command[1:2])}: only 'vllm serve' is known")
        return command[2:]
    if program.startswith("python"):
        if command[1:3] != ["-m", "vllm.entrypoints.openai.api_server"]:
            parser.error(f"{' '.join(command[:3])}: only '-m vllm.entrypoints.openai.api_server' is known")
        return command[3:]
    return command


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="vllm serve", usage="vllm serve [MODEL] [flags]", allow_abbrev=False, add_help=False
    )
    parser.add_argument("model_tag", nargs="?")
    parser.add_argument("--served-model-name", nargs="+")
    parser.add_argument("--host")
    parser.add_argument("--port", type=_port, default=8000)
    parser.add_argument("--max-num-seqs", type=_positive_int, default=VLLM_MAX_NUM_SEQS)
    parser.add_argument("--shutdown-timeout", type=_seconds, default=0.0)
    parser.add_argument("--max-num-queued-reqs", type=_positive_int)
    parser.add_argument("--max-num-queued-tokens", type=_positive_int)
    parser.add_argument("--custom-histogram-buckets", type=_bounds, default={})
    for flag in _INT_FLAGS.split():
        parser.add_argument(flag, type=_positive_int)
    for flag in _FRACTION_FLAGS:
        parser.add_argument(flag, type=_fraction)
    for flag in _TEXT_FLAGS.split():
        parser.add_argument(flag)
    for flag in _SWITCHES.split():
        parser.add_argument(flag, action=argparse.BooleanOptionalAction)
    return parser


def _bounds(text: str) -> dict[str, tuple[float, ...]]:
    """`{"time_to_first_token": [0.5, 0.6]}`: positive, finite, ascending, of families that are known."""
    try:
        found = {family: tuple(map(float, bounds)) for family, bounds in json.loads(text).items()}
    except (ValueError, TypeError, AttributeError) as failure:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a JSON object of lists") from failure
    for family, bounds in found.items():
        if family not in BOUNDS:
            raise argparse.ArgumentTypeError(f"unknown family {family!r}, known are {', '.join(BOUNDS)}")
        ascends = all(less < more for less, more in pairwise((0.0, *bounds)))
        if not bounds or not ascends or not all(map(math.isfinite, bounds)):
            raise argparse.ArgumentTypeError(f"{family}: got {bounds}, expected positive, finite, ascending bounds")
    return found


def _positive_int(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a whole number of at least 1")
    return int(text)


def _port(text: str) -> int:
    number = _positive_int(text)
    if number > 65535:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a port of at most 65535")
    return number


def _seconds(text: str) -> float:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"got {text!r}, expected whole seconds")
    return float(text)


def _fraction(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0.0 <= number <= 1.0:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a fraction from 0 to 1")
    return number
