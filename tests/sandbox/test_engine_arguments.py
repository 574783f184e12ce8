"""The engine double takes vLLM's flags and no others."""

from __future__ import annotations

import pytest

from sandbox.engine.arguments import arguments_from
from sandbox.engine.metrics import EngineMetrics
from sandbox.engine.server import bind_address


def test_what_the_double_obeys() -> None:
    given = arguments_from(
        [
            *("vllm", "serve", "/models/support-8b", "--served-model-name", "support-bot", "--port=8001"),
            *("--max-num-seqs", "64", "--shutdown-timeout", "180", "--max-num-queued-reqs", "96"),
            *("--tensor-parallel-size=2", "--enable-prefix-caching", "--gpu-memory-utilization", "0.92"),
            *("--max-model-len", "8192", "--load-format", "runai_streamer", "--kv-cache-dtype", "fp8"),
            *(
                "--max-num-batched-tokens",
                "8192",
                "--dtype",
                "bfloat16",
                "--revision",
                "3f2c9e1",
                "--download-dir",
                "/w",
            ),
        ]
    )
    assert given.model_names == ("support-bot",)
    assert (given.port, given.max_num_seqs, given.gpus_needed) == (8001, 64, 2)
    assert (given.shutdown_timeout_s, given.max_num_queued_reqs) == (180.0, 96)


def test_bounds_of_histograms() -> None:
    given = arguments_from(["m", "--custom-histogram-buckets", '{"time_to_first_token": [0.5, 0.6, 1]}'])
    page = EngineMetrics(given.histogram_bounds).text("m", 0, 0, 0.0)
    assert 'vllm:time_to_first_token_seconds_bucket{engine="0",model_name="m",le="0.6"} 0' in page
    assert 'vllm:time_to_first_token_seconds_bucket{engine="0",model_name="m",le="0.75"}' not in page
    assert 'vllm:e2e_request_latency_seconds_bucket{engine="0",model_name="m",le="0.3"} 0' in page


@pytest.mark.parametrize(
    "command",
    [
        ["--served-model-name", "m"],
        ["vllm", "serve", "--served-model-name", "m"],
        ["/usr/bin/python3", "-m", "vllm.entrypoints.openai.api_server", "--model", "m"],
        ["m"],
    ],
)
def test_ways_to_say_the_model(command: list[str]) -> None:
    given = arguments_from(command)
    assert given.model_names == ("m",)
    assert given.shutdown_timeout_s == 0.0  # vLLM's default: streams are cut


@pytest.mark.parametrize(
    "command",
    [
        ["--max-num-sequences", "64"],
        ["--max-num-seq", "64"],
        ["--max-num-seqs", "many"],
        ["--max-num-seqs", "0"],
        ["--gpu-memory-utilization", "92"],
        ["--shutdown-timeout", "3m"],
        ["--port", "80000"],
        ["--custom-histogram-buckets", "0.5"],
        ["--custom-histogram-buckets", '{"ttft": [0.5]}'],
        ["--custom-histogram-buckets", '{"time_to_first_token": []}'],
        ["--custom-histogram-buckets", '{"time_to_first_token": [0.6, 0.5]}'],
        ["--custom-histogram-buckets", '{"time_to_first_token": [0, 0.5]}'],
        ["--custom-histogram-buckets", '{"time_to_first_token": [0.5, Infinity]}'],
        ["vllm", "server"],
        ["python3", "-m", "vllm"],
    ],
)
def test_a_wrong_flag_ends_the_engine_with_code_2(command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as failure:
        arguments_from(command)
    assert failure.value.code == 2
    assert "error" in capsys.readouterr().err


def test_an_engine_that_binds_loopback_is_not_reached_at_the_pod_address() -> None:
    assert bind_address(arguments_from(["--host", "127.0.0.1"]), "127.10.1.2") == ("127.0.0.1", 0)
    assert bind_address(arguments_from(["--host", "0.0.0.0"]), "127.10.1.2") == ("127.10.1.2", 8000)
    assert bind_address(arguments_from([]), "127.10.1.2") == ("127.10.1.2", 8000)
