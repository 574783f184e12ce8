"""The serving configuration that evidence was measured on: `serving.yaml` beside the result files."""

from __future__ import annotations

RECORD_FILE = "serving.yaml"
