"""A config.json's values, their types made sure of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MOST = 10**9
MOST_LAYERS = 10_000


class ConfigError(Exception):
    """One thing in a config.json that cannot be reckoned with: `key`, and what was got, expected and can be done."""

    def __init__(self, key: str, got: str, expected: str, fix: str) -> None:
        self.key, self.got, self.expected, self.fix = key, got, expected, fix
        super().__init__(f"{key}: got {got}, expected {expected}. {fix}")


class Config:
    """A config.json with its types made sure of."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data

    def whole(self, key: str, default: int | None = None, most: int = MOST) -> int:
        value = self.data.get(key)
        if value is None and default is not None:
            return default
        if value is None:
            fix = "Write the value that transformers' AutoConfig shows for it."
            raise ConfigError(key, "nothing", "a whole number", fix)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 < value <= most:
            raise ConfigError(key, str(value)[:40], f"a whole number from 1 to {most}", "Correct it.")
        return value

    def maybe(self, key: str) -> int | None:
        return None if self.data.get(key) is None else self.whole(key)

    def flag(self, key: str, *, default: bool = False) -> bool:
        value = self.data.get(key)
        return default if value is None else value is True
