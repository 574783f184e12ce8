"""One look at the cluster after the other: few calls each, and a fresh sign-in after it was out of reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from whenever import Instant

from prescale import targets
from prescale.api.cluster import Cluster
from prescale.asking import Via, asker
from prescale.briefs.making import brief_of
from prescale.clock import now as read_clock
from prescale.on_time.planning import Plan, plan_with
from prescale.orders import store
from prescale.pod_states import PodState, pod_states, pods_of
from prescale.warmth import Sighting, look
from prescale.watching.frame import Frame, frame
from prescale.watching.loop import sparing
from stacks.loader import Stack
from stacks.reach import OutOfReach


class Eyes:
    """Looks at one stack. The calendar is read once; a change of it is seen by the next `watch`."""

    def __init__(self, stack: Stack, via: Via) -> None:
        self.stack = stack
        self._via = via
        self._cluster: Cluster | None = None
        self._by: Plan | None = None
        self._ready: frozenset[str] = frozenset()
        self._ask = sparing(self._ask_now)

    def look(self) -> Frame:
        """Look once.

        Raises:
            OutOfReach: the next look signs in anew: credentials that a plugin gave out do not last an evening.
        """
        try:
            return self._look()
        except OutOfReach:
            self._cluster = None
            raise

    def _look(self) -> Frame:
        name, platform = self.stack.name, self.stack.platform
        if self._cluster is None:
            self._cluster = Cluster.of(platform.cluster.context, platform.namespace)
        cluster, now = self._cluster, read_clock()
        raw = pods_of(cluster, self.stack)
        by = self._known(cluster, raw, now)
        pods = pod_states(raw)
        services = platform.services
        found, minimums = targets.with_minimums(cluster, name, services, platform.adopted)
        orders = store.read(cluster, name)
        sighting = Sighting(name, cluster.where, found.observed, minimums, pods, orders, found.has_keda)
        warmths = look(by.table, services, sighting, self._ask, at=now, now=now, lead_times=by.lead_times)
        return frame(warmths, pods, by.table, now)

    def _known(self, cluster: Cluster, raw: Sequence[Mapping[str, Any]], now: Instant) -> Plan:
        """Lead times, read again when a pod tells of a start that was not seen before."""
        ready = frozenset(pod.name for pod in pod_states(raw) if pod.is_ready)
        if self._by is None or ready - self._ready:
            brief = brief_of(self.stack, now)
            self._by = plan_with(cluster, brief, self.stack.platform, raw, cluster.clock(now).best)
            self._ready = ready
        return self._by

    def _ask_now(self, pods: Sequence[tuple[PodState, str]]) -> Mapping[str, str | None]:
        if self._cluster is None:
            return {}
        return asker(self._cluster, self._via)(pods)
