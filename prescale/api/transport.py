"""TLS, proxy and the certificate's name, as a kubeconfig's entry says them."""

from __future__ import annotations

from typing import Any
from urllib.request import getproxies, proxy_bypass

import httpx2
from lightkube.config import client_adapter
from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import User

from prescale.api.kubeconfig_entries import ClusterEntry


def transport_of(config: SingleConfig) -> httpx2.HTTPTransport:
    """The HTTP transport to `config`'s server, through the proxy that is named for it."""
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
