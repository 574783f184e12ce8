"""Ask every Ready pod for one token: the proof that an engine serves, and does not only say so."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as Overtime
from typing import Literal

import httpx2
from lightkube.core.exceptions import ConfigError

from prescale.api.cluster import Cluster
from prescale.pod_states import PodState
from prescale.warmth import Ask

Via = Literal["api", "direct"]

TIMEOUT_S = 10.0
AT_ONCE = 16


def asker(cluster: Cluster, via: Via) -> Ask:
    """An `Ask` that sends one request to each pod, `AT_ONCE` at a time, and waits at most `TIMEOUT_S` for each.

    `api` goes through the API server's pod proxy, which works from anywhere the API server does; `direct` asks the
    pod's own address, for a runner inside the cluster's network.
    """

    def ask(pods: Sequence[tuple[PodState, str]]) -> dict[str, str | None]:
        client = cluster.http(TIMEOUT_S) if via == "api" else httpx2.Client(timeout=TIMEOUT_S, trust_env=False)
        deadline = time.monotonic() + TIMEOUT_S * -(-len(pods) // AT_ONCE) + 1
        pool = ThreadPoolExecutor(min(AT_ONCE, len(pods)))
        try:
            waiting = {
                pod.name: pool.submit(_one_token, client, _url(pod, cluster.namespace, via), model)
                for pod, model in pods
            }
            answers: dict[str, str | None] = {}
            for name, future in waiting.items():
                try:
                    answers[name] = future.result(timeout=max(0.0, deadline - time.monotonic()))
                except Overtime:
                    answers[name] = f"no answer within {TIMEOUT_S:.0f} s"
            return answers
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            client.close()

    return ask


def _url(pod: PodState, namespace: str, via: Via) -> str:
    if via == "api":
        return f"/api/v1/namespaces/{namespace}/pods/{pod.name}:{pod.port}/proxy/v1/completions"
    host = f"[{pod.ip}]" if ":" in pod.ip else pod.ip
    return f"http://{host}:{pod.port}/v1/completions"


def _one_token(client: httpx2.Client, url: str, model: str) -> str | None:
    """None if a token came, else what came instead."""
    try:
        response = client.post(url, json={"model": model, "prompt": "Hello", "max_tokens": 1})
        if response.status_code != httpx2.codes.OK:
            return f"HTTP {response.status_code}: {' '.join(response.text.split())[:120]}"
        return None if response.json().get("choices") else "an answer without a token"
    except httpx2.TimeoutException:
        return f"no answer within {TIMEOUT_S:.0f} s"
    except (httpx2.HTTPError, httpx2.InvalidURL, ConfigError, OSError) as error:
        return str(error) or type(error).__name__
    except (ValueError, AttributeError):
        return "an answer that is not JSON"
