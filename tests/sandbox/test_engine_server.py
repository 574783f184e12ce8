"""The engine double as a process: OpenAI's API, vLLM's metrics, drain and refusals."""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.sandbox.addresses import own_network
from tests.sandbox.waiting import PATIENCE_S

FAST = {"start_s": 0.0, "ttft_base_s": 0.05, "prefill_s_per_token": 0.0, "tpot_s": 0.01, "chunk_interval_s": 0.05}
ADDRESS = f"{own_network()}.2"


@asynccontextmanager
async def engine(*flags: str, **timing: float) -> AsyncIterator[asyncio.subprocess.Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "sandbox.engine", "--pod-ip", ADDRESS, "--timing", json.dumps({**FAST, **timing})),
        *("--", "--served-model-name", "m", "--port", "8000", *flags),
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def listening() -> None:
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                await get("/health")
            except OSError:
                await asyncio.sleep(0.02)
            else:
                return


async def running(count: int) -> None:
    """Until so many requests are in the engine."""
    async with asyncio.timeout(PATIENCE_S):
        counted = f'running{{engine="0",model_name="m"}} {count}\n'
        while counted not in (await get("/metrics"))[1].decode():  # noqa: ASYNC110 -- the engine tells nobody
            await asyncio.sleep(0.02)


async def exchange(request: bytes) -> tuple[int, bytes]:
    reader, writer = await asyncio.open_connection(ADDRESS, 8000)
    writer.write(request)
    try:
        async with asyncio.timeout(PATIENCE_S):
            answer = await reader.read()
    finally:
        writer.close()
    head, _, body = answer.partition(b"\r\n\r\n")
    return (int(head.split(b" ")[1]) if head else 0), body


async def get(path: str) -> tuple[int, bytes]:
    return await exchange(f"GET {path} HTTP/1.1\r\nconnection: close\r\n\r\n".encode())


def post(path: str, body: dict[str, Any]) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {len(data)}\r\n\r\n"
    return head.encode() + data


async def complete(**body: Any) -> tuple[int, bytes]:
    return await exchange(post("/v1/completions", {"model": "m", "prompt": "hello", **body}))


def events(body: bytes) -> list[Any]:
    lines = [line[6:] for line in body.split(b"\n") if line.startswith(b"data: ")]
    return [json.loads(line) for line in lines if line != b"[DONE]"]


def test_streams_as_openai_and_counts_as_vllm() -> None:
    async def play() -> None:
        async with engine("--max-num-seqs", "4"):
            await listening()
            usage = {"include_usage": True}
            status, body = await complete(max_tokens=30, stream=True, stream_options=usage)
            assert status == 200
            assert body.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")
            *chunks, last = events(body)
            assert "".join(chunk["choices"][0]["text"] for chunk in chunks).split() == ["tok"] * 30
            assert chunks[-1]["choices"][0]["finish_reason"] == "length"
            assert last["usage"] == {"prompt_tokens": 1, "completion_tokens": 30, "total_tokens": 31}

            chat = {"messages": [{"role": "user", "content": "hi"}], "max_completion_tokens": 3}
            status, body = await exchange(post("/v1/chat/completions", chat))
            assert (status, json.loads(body)["choices"][0]["message"]["content"]) == (200, " tok tok tok")
            assert json.loads((await get("/v1/models"))[1])["data"][0]["id"] == "m"

            text = (await get("/metrics"))[1].decode()
            labels = 'engine="0",model_name="m"'
            assert f"vllm:num_requests_running{{{labels}}} 0\n" in text
            assert f"vllm:num_requests_waiting{{{labels}}} 0\n" in text
            assert f"vllm:generation_tokens_total{{{labels}}} 33\n" in text
            assert f'vllm:request_success_total{{{labels},finished_reason="length"}} 2\n' in text
            assert f'vllm:time_to_first_token_seconds_bucket{{{labels},le="0.06"}} 2\n' in text
            assert f"vllm:request_time_per_output_token_seconds_count{{{labels}}} 2\n" in text
            assert f"vllm:request_generation_tokens_sum{{{labels}}} 33" in text
            assert f'vllm:request_generation_tokens_bucket{{{labels},le="5.0"}} 1\n' in text

    asyncio.run(play())


def test_refusals() -> None:
    async def play() -> None:
        async with engine("--max-num-queued-reqs", "1", "--max-model-len", "50", tpot_s=0.05):
            await listening()
            assert (await complete(model="other"))[0] == 404
            assert (await complete(prompt=""))[0] == 400
            assert (await complete(max_tokens=60))[0] == 400
            assert (
                await exchange(b"POST /v1/completions HTTP/1.1\r\nconnection: close\r\ncontent-length: 2\r\n\r\n[]")
            )[0] == 400
            assert (await get("/nope"))[0] == 404
            first = asyncio.create_task(complete(max_tokens=40))
            await running(1)
            status, body = await complete(max_tokens=40)
            assert (status, json.loads(body)["error"]["type"]) == (503, "ServiceUnavailableError")
            assert (await first)[0] == 200

    asyncio.run(play())


def test_a_client_that_leaves_frees_its_slot() -> None:
    async def play() -> None:
        async with engine("--max-num-seqs", "1"):
            await listening()
            _, writer = await asyncio.open_connection(ADDRESS, 8000)
            writer.write(post("/v1/completions", {"prompt": "x", "max_tokens": 4000, "stream": True}))
            await running(1)
            writer.close()
            assert (await complete(max_tokens=5))[0] == 200
            assert 'finished_reason="abort"} 1' in (await get("/metrics"))[1].decode()

    asyncio.run(play())


@pytest.mark.parametrize(("timeout_s", "is_cut"), [("0", True), ("60", False), ("1", True)])
def test_sigterm_drains_as_long_as_the_argument_says(timeout_s: str, *, is_cut: bool) -> None:
    async def play() -> None:
        async with engine("--shutdown-timeout", timeout_s, tpot_s=0.02) as process:
            await listening()
            stream = asyncio.create_task(complete(max_tokens=200, stream=True))
            await running(1)
            process.send_signal(signal.SIGTERM)
            if not is_cut:
                async with asyncio.timeout(PATIENCE_S):  # a token each until it has heard of it
                    while (await complete(max_tokens=1))[0] != 503:
                        pass
            _, body = await stream
            assert (b"[DONE]" not in body) == is_cut
            assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0

    asyncio.run(play())


def test_does_not_listen_before_it_has_loaded() -> None:
    async def play() -> None:
        async with engine(start_s=0.6) as process:
            await asyncio.sleep(0.3)
            with pytest.raises(OSError, match="Connect call failed"):
                await get("/health")
            await listening()
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 0

    asyncio.run(play())


def test_more_gpus_asked_than_the_container_has() -> None:
    async def play() -> None:
        async with engine("--tensor-parallel-size", "2", gpus=1) as process:
            assert await asyncio.wait_for(process.wait(), PATIENCE_S) == 1
            assert process.stderr is not None
            assert b"ask for 2 GPUs" in await process.stderr.read()

    asyncio.run(play())
