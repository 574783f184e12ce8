"""How long things take in the engine double. Pure arithmetic; all numbers are the double's, none is vLLM's."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class EngineTiming:
    """Physical parameters of one engine double.

    The defaults make the worked example come out: a 1,000-token prompt answers its first token after 0.58 s, and 400
    tokens at 18 ms finish after 7.8 s, for up to `knee_in_flight` at a time.

    Args:
        start_s: seconds from process start until the port listens; a real engine builds its graphs then.
        ttft_base_s: seconds of a prefill without its tokens.
        prefill_s_per_token: seconds each prompt token adds.
        tpot_s: seconds per output token while no more than `knee_in_flight` sequences run.
        knee_in_flight: running sequences after which each more one slows all down, so that throughput stays flat.
        knee_exponent: 1.0 = throughput is flat past the knee; above 1.0 it falls.
        chunk_interval_s: seconds of tokens put in one stream chunk; a real engine sends each token, this saves CPU.
        output_tokens: tokens of an answer whose request sets no limit.
        kv_cache_tokens: what `vllm:kv_cache_usage_perc` is measured against.
        gpus: GPUs of the container; 0 = not told, then not checked.
    """

    start_s: float = 10.0
    ttft_base_s: float = 0.45
    prefill_s_per_token: float = 0.00013
    tpot_s: float = 0.018
    knee_in_flight: int = 50
    knee_exponent: float = 1.0
    chunk_interval_s: float = 0.2
    output_tokens: int = 400
    kv_cache_tokens: int = 160_000
    gpus: int = 0

    def tpot_at(self, running: int) -> float:
        """Seconds per output token while `running` sequences share the batch."""
        if running <= self.knee_in_flight:
            return self.tpot_s
        past_knee: float = (running / self.knee_in_flight) ** self.knee_exponent
        return self.tpot_s * past_knee

    def prefill_s(self, prompt_tokens: int) -> float:
        """Seconds from admission to the first token."""
        return self.ttft_base_s + prompt_tokens * self.prefill_s_per_token


def timing_from_json(text: str) -> EngineTiming:
    """Parameters from a JSON object; unknown names and non-numbers are refused.

    Raises:
        ValueError: says which name is unknown or not a number.
    """
    given = json.loads(text)
    if not isinstance(given, dict):
        raise ValueError(f"engine timing: got {text!r}, expected a JSON object")  # noqa: TRY004 -- bad text
    known = {field.name for field in fields(EngineTiming)}
    for name, value in given.items():
        if name not in known:
            raise ValueError(f"engine timing: unknown name {name!r}, known are {', '.join(sorted(known))}")
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise ValueError(f"engine timing: {name}: got {value!r}, expected a number of at least 0")
    return EngineTiming(**given)


def prompt_tokens_of(prompt: object) -> int:
    """Tokens of a prompt: exact for a list of token ids, else one for each four characters (no tokenizer here)."""
    if isinstance(prompt, list) and prompt and all(isinstance(item, int) for item in prompt):
        return len(prompt)
    if isinstance(prompt, list):
        return sum(prompt_tokens_of(item) for item in prompt)
    if isinstance(prompt, dict):
        return prompt_tokens_of(prompt.get("content") or prompt.get("text") or "")
    return max(1, len(str(prompt)) // 4)
