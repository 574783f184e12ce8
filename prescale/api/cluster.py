"""The cluster as the pre-scaler uses it: few calls, each bounded in time, every failure named with the address."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, TypeVar

import httpx2
import msgspec
from lightkube import ApiError, Client
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import SingleConfig
from lightkube.generic_resource import GenericNamespacedResource, create_api_info
from lightkube.operators import not_in
from lightkube.types import PatchType
from whenever import Instant

from prescale.api.exec_plugin import signed_in
from prescale.api.kubeconfig import choose
from prescale.api.objects import Conflict, Denied, NoKeda, Refused
from prescale.api.reaching import TIMEOUT, reaching
from prescale.api.shapes import (
    AdoptedAutoscalerShape,
    AutoscalerShape,
    ConfigMapShape,
    PodShape,
    ScaledObjectShape,
    checked,
)
from prescale.api.transport import transport_of
from prescale.api.wire import Wire
from prescale.clock import Clock
from stacks import ownership
from stacks.scaler import Kind

PAGE = 500  # objects of one answer, where there may be tens of thousands

T = TypeVar("T")


# Plain dictionaries: typed models would cost a no-op run more time than its one call.
class ScaledObject(GenericNamespacedResource):
    _api_info = create_api_info("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects")


class Autoscaler(GenericNamespacedResource):
    _api_info = create_api_info("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")


class ConfigMap(GenericNamespacedResource):
    _api_info = create_api_info("", "v1", "ConfigMap", "configmaps")


class Pod(GenericNamespacedResource):
    _api_info = create_api_info("", "v1", "Pod", "pods")


_KINDS: Mapping[Kind, tuple[type[GenericNamespacedResource], type[msgspec.Struct]]] = {
    "ScaledObject": (ScaledObject, ScaledObjectShape),
    "HorizontalPodAutoscaler": (Autoscaler, AdoptedAutoscalerShape),
}


class Cluster:
    """One namespace of one cluster."""

    def __init__(self, config: SingleConfig, namespace: str, transport: httpx2.BaseTransport | None = None) -> None:
        self.config = config
        self.address = re.sub(r"//[^/]*@", "//", config.cluster.server)  # it is printed, a password in it is not
        self.namespace = namespace
        with self._reaching():
            self.wire = Wire(transport or transport_of(config))
            self._client = Client(
                config, namespace, timeout=TIMEOUT, field_manager=ownership.FIELD_MANAGER, transport=self.wire
            )

    @classmethod
    def of(cls, context: str | None, namespace: str) -> Cluster:
        """The cluster of a kubeconfig's `context`, or of the pod we run in.

        Raises:
            InputError: a kubeconfig that cannot be used as it is.
            OutOfReach: no kubeconfig, or no credentials. Nothing has been asked of the cluster yet.
        """
        return cls(signed_in(choose(context)), namespace)

    @property
    def where(self) -> str:
        """Namespace and cluster, as they are named to a person."""
        return f"namespace {self.namespace} of {self.address} (context {self.config.context_name})"

    @property
    def calls(self) -> int:
        """API calls made so far, repeats included."""
        return self.wire.calls

    def clock(self, now: Instant) -> Clock:
        """`now` beside the API server's time."""
        ahead_s = self.wire.server_ahead_s
        return Clock(now, None if ahead_s is None else now.add(seconds=round(ahead_s)))

    def scaled_objects(self, stack: str) -> list[dict[str, Any]]:
        """Every ScaledObject that carries the stack's label, in one call. Raises `NoKeda`."""
        with self._reaching():
            try:
                found = self._client.list(ScaledObject, labels={ownership.STACK_LABEL: stack})
                return checked(found, ScaledObjectShape)
            except httpx2.HTTPStatusError as error:  # an ApiError is one, too
                if error.response.status_code == 404:  # a list may be empty: it is the kind that is not there
                    raise NoKeda(self.address) from None
                raise

    def hpas(self) -> list[dict[str, Any]]:
        """Every HPA of the namespace, in one call."""
        with self._reaching():
            found = checked(self._client.list(Autoscaler), AutoscalerShape)
            # Of others only name and minimum are looked at.
            checked((item for item in found if item["metadata"].get("labels")), AdoptedAutoscalerShape)
            return found

    def target(self, kind: Kind, name: str) -> dict[str, Any] | None:
        """One object that scales a service; None if it is gone."""
        with self._reaching():
            return self._one(*_KINDS[kind], name)

    def patch(self, kind: Kind, name: str, patch: dict[str, Any]) -> None:
        """Send a JSON merge patch for one ScaledObject or HPA, as our own field manager.

        Raises:
            Conflict: it was written, or deleted, since it was read.
            Refused: validation, a policy, an admission webhook or a Role said no to this one object.
        """
        with self._reaching(), _answering():
            self._client.patch(_KINDS[kind][0], name, patch, patch_type=PatchType.MERGE)

    def config_map(self, name: str) -> dict[str, Any] | None:
        """One ConfigMap; None if there is none.

        Raises:
            Refused: no Role lets us read it.
        """
        with self._reaching(), _answering():
            return self._one(ConfigMap, ConfigMapShape, name)

    def create_config_map(self, name: str, labels: dict[str, str], data: dict[str, str]) -> None:
        """Make one. Raises `Conflict` if somebody else has, or `Refused`."""
        metadata = {"name": name, "namespace": self.namespace, "labels": labels}
        made = ConfigMap.from_dict({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})
        with self._reaching(), _answering():
            self._client.create(made)

    def patch_config_map(self, name: str, patch: dict[str, Any]) -> None:
        """Send a JSON merge patch for one ConfigMap, as our own field manager. Raises `Conflict` or `Refused`."""
        with self._reaching(), _answering():
            self._client.patch(ConfigMap, name, patch, patch_type=PatchType.MERGE)

    def delete_config_map(self, name: str) -> None:
        """Delete it if it is there. Raises `Refused`."""
        with self._reaching(), suppress(Conflict), _answering():
            self._client.delete(ConfigMap, name)

    def _one(
        self, kind: type[GenericNamespacedResource], shape: type[msgspec.Struct], name: str
    ) -> dict[str, Any] | None:
        try:
            return checked([self._client.get(kind, name)], shape)[0]
        except ApiError as error:
            if error.status.code == 404:
                return None
            raise

    def pods(self, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """Every pod that carries these labels, in one call."""
        with self._reaching():
            return checked(self._client.list(Pod, labels=dict(labels)), PodShape)

    def listed(
        self, resource: Any, each: Callable[[dict[str, Any]], T], *, everywhere: bool, without: Mapping[str, list[str]]
    ) -> list[T]:
        """Every object of one kind, page by page, as `each` makes it.

        Args:
            resource: a resource class of lightkube.
            everywhere: in all namespaces; only of kinds that have one.
            without: field -> values of it that are not wanted.

        Raises:
            Denied: the server does not show this kind, or does not know it.
        """
        where: Any = {"namespace": "*"} if everywhere else {}
        fields: Any = {name: not_in(values) for name, values in without.items()} or None
        with self._reaching():
            try:
                return [each(item) for item in self._client.list(resource, chunk_size=PAGE, fields=fields, **where)]
            except ApiError as error:
                if error.status.code in {403, 404}:
                    raise Denied(error.status.code, error.status.message or "") from None
                raise
            except httpx2.HTTPStatusError as error:
                if error.response.status_code in {403, 404}:  # with no word of why
                    raise Denied(error.response.status_code, "") from None
                raise

    def http(self, timeout_s: float) -> httpx2.Client:
        """A plain HTTP client with the kubeconfig's address and credentials, for what is no resource (pod proxies)."""
        with self._reaching():
            transport = transport_of(self.config)
            params = client_adapter.ConnectionParams(timeout=httpx2.Timeout(timeout_s), transport=transport)
            return client_adapter.Client(self.config, params)

    def _reaching(self) -> AbstractContextManager[None]:
        return reaching(self.address)


@contextmanager
def _answering() -> Iterator[None]:
    """What the API server says no to, of one object."""
    try:
        yield
    except ApiError as error:
        if error.status.code in {404, 409}:
            raise Conflict(error.status.message) from None
        # Also a webhook that fails (500): the next object may be none of its.
        if error.status.code in {400, 403, 422} or "webhook" in (error.status.message or ""):
            raise Refused(error.status.message) from None
        raise
