"""Open-loop load: requests leave on a schedule made beforehand, however late the answers are."""

from sandbox.load.play import LoadRun, Target, run

__all__ = ["LoadRun", "Target", "run"]
