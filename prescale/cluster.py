"""The cluster as the pre-scaler uses it: few calls, each bounded in time, every failure named with the address."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from urllib.request import getproxies, proxy_bypass

import httpx2
import msgspec
from lightkube import ApiError, Client
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import User
from lightkube.core.exceptions import ConfigError, LoadResourceError
from lightkube.generic_resource import GenericNamespacedResource, create_api_info
from lightkube.operators import not_in
from lightkube.types import PatchType
from whenever import Instant

from prescale.clock import Clock
from prescale.exec_plugin import signed_in
from prescale.kubeconfig import choose
from prescale.kubeconfig_entries import ClusterEntry
from prescale.objects import Conflict, Denied, Refused
from prescale.shapes import AutoscalerShape, PodShape, ScaledObjectShape, checked
from prescale.wire import Wire
from stacks import ownership
from stacks.reach import OutOfReach

TIMEOUT = httpx2.Timeout(10.0, connect=5.0)
PAGE = 500  # objects of one answer, where there may be tens of thousands

T = TypeVar("T")


# Plain dictionaries: typed models would cost a no-op run more time than its one call.
class ScaledObject(GenericNamespacedResource):
    _api_info = create_api_info("keda.sh", "v1alpha1", "ScaledObject", "scaledobjects")


class Autoscaler(GenericNamespacedResource):
    _api_info = create_api_info("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers")


class Pod(GenericNamespacedResource):
    _api_info = create_api_info("", "v1", "Pod", "pods")


class Cluster:
    """One namespace of one cluster."""

    def __init__(self, config: SingleConfig, namespace: str, transport: httpx2.BaseTransport | None = None) -> None:
        self.config = config
        self.address = re.sub(r"//[^/]*@", "//", config.cluster.server)  # it is printed, a password in it is not
        self.namespace = namespace
        with self._reaching():
            self.wire = Wire(transport or _transport(config))
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
        """Every ScaledObject that carries the stack's label, in one call."""
        with self._reaching():
            found = self._client.list(ScaledObject, labels={ownership.STACK_LABEL: stack})
            return checked(found, ScaledObjectShape)

    def scaled_object(self, name: str) -> dict[str, Any] | None:
        """One ScaledObject; None if it is gone."""
        with self._reaching():
            try:
                return checked([self._client.get(ScaledObject, name)], ScaledObjectShape)[0]
            except ApiError as error:
                if error.status.code == 404:
                    return None
                raise

    def patch(self, name: str, patch: dict[str, Any]) -> None:
        """Send a JSON merge patch for one ScaledObject, as our own field manager.

        Raises:
            Conflict: it was written, or deleted, since it was read.
            Refused: validation, a policy, an admission webhook or a Role said no to this one object.
        """
        with self._reaching():
            try:
                self._client.patch(ScaledObject, name, patch, patch_type=PatchType.MERGE)
            except ApiError as error:
                if error.status.code in {404, 409}:
                    raise Conflict(error.status.message) from None
                # Also a webhook that fails (500): the next object may be none of its.
                if error.status.code in {400, 403, 422} or "webhook" in (error.status.message or ""):
                    raise Refused(error.status.message) from None
                raise

    def minimums(self) -> dict[str, int]:
        """HPA name -> minReplicas in force (absent means 1), in one call."""
        with self._reaching():
            autoscalers = checked(self._client.list(Autoscaler), AutoscalerShape)
        return {item["metadata"]["name"]: (item.get("spec") or {}).get("minReplicas", 1) for item in autoscalers}

    def pods(self, stack: str) -> list[dict[str, Any]]:
        """Every pod that carries the stack's label, in one call."""
        with self._reaching():
            return checked(self._client.list(Pod, labels={ownership.STACK_LABEL: stack}), PodShape)

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
            transport = _transport(self.config)
            params = client_adapter.ConnectionParams(timeout=httpx2.Timeout(timeout_s), transport=transport)
            return client_adapter.Client(self.config, params)

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        """Whatever keeps the cluster from answering becomes `OutOfReach`, with its address."""
        try:
            yield
        except ApiError as error:
            code, message = error.status.code, error.status.message
            raise OutOfReach(self.address, f"it answered {code}: {message}", _fix(code)) from None
        except httpx2.HTTPStatusError as error:
            raise OutOfReach(self.address, *_status(error.response.status_code)) from None
        except httpx2.TimeoutException:
            reason = f"no answer within {TIMEOUT.read:.0f} s"
            raise OutOfReach(self.address, reason, "Is it up, and reachable from here?") from None
        except ConfigError as error:
            raise OutOfReach(self.address, str(error), "Correct the kubeconfig's user.") from None
        except ImportError as error:  # what a socks:// proxy asks for
            raise OutOfReach(self.address, str(error), "Name an http:// proxy, or none.") from None
        except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
            raise OutOfReach(self.address, str(error), "Is it up, and is the kubeconfig's address right?") from None
        except (msgspec.MsgspecError, LoadResourceError, LookupError, AttributeError, TypeError, ValueError) as error:
            reason = f"its answer is not one of a Kubernetes API server ({' '.join(str(error).split())})"
            raise OutOfReach(self.address, reason, "Is the kubeconfig's address right?") from None


def _transport(config: SingleConfig) -> httpx2.HTTPTransport:
    user, entry = config.user or User(), config.cluster
    # A transport of one's own loses the client's TLS settings and proxy variables, so they are given again here.
    verify = client_adapter.verify_cluster(entry, user, config.abs_file)
    url = httpx2.URL(entry.server)
    proxy, name = (entry.proxy_url, entry.tls_server_name) if isinstance(entry, ClusterEntry) else (None, None)
    if not proxy and not proxy_bypass(url.host):
        proxy = getproxies().get(url.scheme)
    return _Transport(name, verify=verify, proxy=proxy)


class _Transport(httpx2.HTTPTransport):
    """`server_name`, where there is one, is what the certificate is asked to be for, in place of the address's host."""

    def __init__(self, server_name: str | None, **options: Any) -> None:
        super().__init__(**options)
        self._server_name = server_name

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        if self._server_name:
            request.extensions = {**request.extensions, "sni_hostname": self._server_name}
        return super().handle_request(request)


def _fix(code: int | None) -> str:
    if code == 401:
        return "Renew the credentials of the kubeconfig's user."
    if code == 403:
        return "Give the user a Role that may do this."
    return "Look at the API server."


def _status(code: int) -> tuple[str, str]:
    if code == 404:
        return "it does not know ScaledObjects", "Install KEDA, or correct the context."
    return f"it answered {code}", _fix(code)
