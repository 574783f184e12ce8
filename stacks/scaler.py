"""What scales a service: an object of one of two kinds, whose minimum is the floor."""

from __future__ import annotations

from typing import Literal, Protocol

Kind = Literal["ScaledObject", "HorizontalPodAutoscaler"]


class Scaler(Protocol):
    """The object that scales a service which others built; it is in the stack's namespace."""

    @property
    def kind(self) -> Kind:
        """A ScaledObject, or an HPA that no ScaledObject owns."""

    @property
    def name(self) -> str:
        """Its own name, which need not be the service's."""
