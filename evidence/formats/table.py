"""Every format that is read, by what is in it and not by its name: one row each."""

from __future__ import annotations

from evidence.formats import aiperf, guidellm, inference_perf, inferencex, llmd_report, sglang, vllm
from evidence.formats.source import Byproduct, Format

_TOOLS = (sglang, vllm, guidellm, aiperf, inference_perf, llmd_report, inferencex)

# In order: a byproduct may look like a result to a format further down, and the other way round.
FORMATS: tuple[Format, ...] = tuple(row for tool in _TOOLS for row in tool.FORMATS)
BYPRODUCTS: tuple[Byproduct, ...] = tuple(row for tool in _TOOLS for row in tool.BYPRODUCTS)
