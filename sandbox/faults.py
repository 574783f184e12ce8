"""What goes wrong in the sandbox, said so that a person can act on it; never shown as a traceback."""

from __future__ import annotations


class SandboxError(Exception):
    """A sentence for the user: what did not work, where to look, what to do."""


class ToolError(SandboxError):
    """A tool could not be found or built."""
