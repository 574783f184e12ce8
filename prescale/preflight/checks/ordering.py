"""Whether what people ordered could be read: an order may ask for more than the calendar."""

from __future__ import annotations

from collections.abc import Iterator

from prescale.preflight.finding import Unsure
from prescale.preflight.scene import Scene


def are_readable(scene: Scene) -> Iterator[Unsure]:
    """One word for each that could not, or for all of them."""
    for reason in scene.orders.unreadable:
        yield Unsure(reason)
