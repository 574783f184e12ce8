"""Kubeconfig files of the sandbox: one per user, each with that user's token inside, mode 0600."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import httpx2
from lightkube import Client, KubeConfig

from sandbox.control_plane.certificates import USERS
from sandbox.layout import HOST, Layout, Settings
from sandbox.places import CONTEXT, write_private

# Longer than the API server waits for the admission of KEDA.
_TIMEOUT = httpx2.Timeout(60)


def write_all(layout: Layout, settings: Settings) -> None:
    for user in USERS:
        write_private(layout.kubeconfig_of(user), _kubeconfig(layout, settings, user))


def _kubeconfig(layout: Layout, settings: Settings, user: str) -> str:
    ring = layout.keyring
    # JSON is YAML, and every reader of kubeconfigs takes it.
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": CONTEXT,
            "clusters": [
                {
                    "name": CONTEXT,
                    "cluster": {
                        "server": f"https://{HOST}:{settings.ports['kube-apiserver']}",
                        "certificate-authority-data": b64encode(ring.ca.read_bytes()).decode(),
                    },
                }
            ],
            "users": [{"name": user, "user": {"token": ring.token(user).read_text()}}],
            "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": user}}],
        },
        indent=1,
    )


def client(kubeconfig: Path, *, dry_run: bool = False) -> Client:
    """A client for that kubeconfig and no other: neither $KUBECONFIG nor ~/.kube is looked at."""
    config = KubeConfig.from_file(kubeconfig).get()
    return Client(config=config, field_manager="warmline-sandbox", dry_run=dry_run, timeout=_TIMEOUT)
