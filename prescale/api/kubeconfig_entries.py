"""The entries of a kubeconfig: what the client library takes of them, what is added here, and what is refused."""

from __future__ import annotations

import binascii
import os
import re
from base64 import b64decode
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import msgspec
from lightkube.config.models import Cluster, User

from stacks.faults import Fault
from stacks.wording import short
from stacks.yaml_text import Document, dotted
from stacks.yaml_text import Path as Place

T = TypeVar("T", "ClusterEntry", User)

# Source: Kubernetes 1.34, client-go clientcmd/api/v1/types.go. What is not honoured is refused where it is set.
REFUSED = {
    "as": "Warmline impersonates nobody: name a user with credentials of its own.",
    "as-uid": "Warmline impersonates nobody: name a user with credentials of its own.",
    "as-groups": "Warmline impersonates nobody: name a user with credentials of its own.",
    "as-user-extra": "Warmline impersonates nobody: name a user with credentials of its own.",
    "auth-provider": "Kubernetes 1.26 removed it: use an exec plugin, as `kubelogin` or the cloud's own.",
    "provideClusterInfo": "Give the plugin what it needs to know as arguments, and leave this out.",
}
EXEC_VERSIONS = [f"client.authentication.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1")]
FILES = ("certificate-authority", "client-certificate", "client-key", "tokenFile")
PROXIES = ("http", "https", "socks5", "socks5h")


@dataclass(frozen=True)
class Rule:
    """What a field's text must be; `is_broken` gets its name, the text and the kubeconfig's folder."""

    is_broken: Callable[[str, str, Path], bool]
    got: Callable[[str], str]
    expected: str
    fix: str


RULES = (
    Rule(
        lambda name, text, folder: name in FILES and not _is_file(folder / text),
        lambda text: f"no file {text}",
        "a file that is there",
        "Correct the path, which counts from the kubeconfig's folder.",
    ),
    Rule(
        lambda name, text, _: name.endswith("-data") and not _is_base64(text),
        lambda _: "text that is no base64",
        "base64 of a PEM file",
        "Copy it whole.",
    ),
    Rule(
        lambda name, text, _: name == "proxy-url" and not _is_proxy(text),
        lambda _: "another address",
        "one that begins with http://, https:// or socks5://",
        "Correct it.",
    ),
    Rule(
        lambda name, text, _: name == "apiVersion" and text not in EXEC_VERSIONS,
        str,
        f"one of {', '.join(EXEC_VERSIONS)}",
        "Correct it, or use a newer plugin.",
    ),
    Rule(
        lambda name, text, _: name == "interactiveMode" and text == "Always",
        str,
        "Never or IfAvailable",
        "Use a plugin that needs nobody: cron has no terminal.",
    ),
)


class ClusterEntry(Cluster, omit_defaults=True):
    """With the two fields that the client library leaves out; `prescale.api.cluster` honours them."""

    proxy_url: str | None = msgspec.field(name="proxy-url", default=None)
    tls_server_name: str | None = msgspec.field(name="tls-server-name", default=None)


@dataclass(frozen=True)
class File:
    """One kubeconfig, read as YAML."""

    path: Path
    document: Document

    def fault(self, place: Place, got: str, expected: str, fix: str) -> Fault:
        return Fault(str(self.path), self.document.line(place), dotted(place), short(got), expected, fix)

    def entries(self, kind: str) -> dict[str, tuple[Place, dict[str, Any]]]:
        """Place and content of each of the `clusters`, `contexts` or `users`, by name; the first of a name counts."""
        items = self.document.data.get(kind)
        found: dict[str, tuple[Place, dict[str, Any]]] = {}
        for index, item in enumerate(items if isinstance(items, list) else ()):
            if isinstance(item, dict) and isinstance(entry := item.get(kind[:-1]) or {}, dict):
                found.setdefault(str(item.get("name")), ((kind, index, kind[:-1]), entry))
        return found

    def one_of(self, kind: str) -> str:
        """What is expected where a name of `kind` is looked for."""
        names = ", ".join(self.entries(kind))
        return f"one of the {kind}: {names}" if names else f"a list of {kind}, each with its name"

    def referred(
        self, model: type[T], kind: str, place: Place, context: dict[str, Any], faults: list[Fault]
    ) -> T | None:
        """The cluster or user that a context names."""
        name = context.get(kind[:-1])
        found = self.entries(kind).get(str(name))
        if not name or found is None:
            got = f"no {kind[:-1]} {name!r}" if name else "nothing"
            faults.append(self.fault((*place, kind[:-1]), got, self.one_of(kind), "Name one that the file has."))
            return None
        return self.typed(model, *found, faults)

    def typed(self, model: type[T], place: Place, entry: dict[str, Any], faults: list[Fault]) -> T | None:
        """`entry` as the client takes it. Its files are found from the kubeconfig's folder, as kubectl does."""
        faults += self._faults(place, entry)
        paths = {name: entry[name] for name in FILES if isinstance(entry.get(name), str) and entry[name]}
        absolute = {name: str(self.path.parent / path) for name, path in paths.items()}
        try:
            return msgspec.convert({**entry, **absolute}, model)
        except msgspec.ValidationError as error:
            faults.append(self._misfit(place, str(error)))
            return None

    def _misfit(self, place: Place, message: str) -> Fault:
        # "Expected `str`, got `int` - at `$.server`"; the value itself may be a secret and is not in it.
        said = re.fullmatch(r"(?:Expected `(.+?)`, got `(.+?)`|(.+?))(?: - at `\$(.*)`)?", message)
        expected, got, other, path = said.groups() if said else (None, None, message, None)
        parts = re.findall(r"\[(\d+)\]|\.([^.\[]+)", path or "")
        inner = tuple(int(index) if index else name for index, name in parts)
        return self.fault((*place, *inner), got or str(other), expected or "another form", "Correct the entry.")

    def _faults(self, place: Place, entry: dict[str, Any]) -> Iterator[Fault]:
        for name, value in entry.items():
            if name == "exec" and isinstance(value, dict):
                yield from self._faults((*place, name), value)
            elif name in REFUSED and value:
                got = "a field that is not supported"
                yield self.fault((*place, name), got, "an entry without it", REFUSED[name])
            elif isinstance(value, str) and value:
                broken = (rule for rule in RULES if rule.is_broken(name, value, self.path.parent))
                yield from (self.fault((*place, name), rule.got(value), rule.expected, rule.fix) for rule in broken)


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 - Path's own raises for a name no file system takes


def _is_proxy(text: str) -> bool:
    try:
        url = urlsplit(text)
    except ValueError:
        return False
    return url.scheme in PROXIES and bool(url.hostname)


def _is_base64(text: str) -> bool:
    try:
        b64decode(text)
    except (binascii.Error, ValueError):
        return False
    return True
