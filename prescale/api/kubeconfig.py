"""Which cluster: a kubeconfig's context, or the account of the pod we run in.

Read here and not by the client library, which leaves out what it does not know: a `proxy-url` or an `as` that is
ignored in silence asks another cluster, or asks as somebody else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lightkube.config.kubeconfig import KubeConfig, SingleConfig
from lightkube.config.models import Context, User
from lightkube.core.exceptions import ConfigError

from prescale.api.kubeconfig_entries import ClusterEntry, File
from stacks.faults import Fault, InputError
from stacks.files import Unreadable, text_of
from stacks.reach import OutOfReach
from stacks.yaml_text import parse

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")

# Source: Kubernetes 1.34, client-go rest.InClusterConfig.
ADDRESS = ("KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT")

IN_THE_SANDBOX = 'in the sandbox: eval "$(warmline sandbox env)"'


class _NotThere(InputError):  # noqa: N818 - it names the state
    """The file has no such context; another one may."""


def choose(context: str | None) -> SingleConfig:
    """The configuration of `context`, or of the current context.

    $KUBECONFIG (the first of its files that has the context; what it names and that file has not, any of them may
    have), else ~/.kube/config, else the pod's own account.

    Raises:
        OutOfReach: there is none.
        InputError: no file has the context, or its entries cannot be used as they are.
    """
    said = os.environ.get("KUBECONFIG")
    parts = (said or "~/.kube/config").split(os.pathsep)
    # Not Path's own: they raise for a user who has no home, and for a name no file system takes.
    files = [Path(os.path.expanduser(part)) for part in parts if part]  # noqa: PTH111
    readable = [file for file in files if os.path.exists(file)]  # noqa: PTH110
    if not readable:
        if said is None and ACCOUNT.is_file():
            return _of_the_pod()
        names = os.pathsep.join(map(str, files))
        fix = f"Set KUBECONFIG ({IN_THE_SANDBOX})."
        raise OutOfReach(names, "no such kubeconfig, and this is no pod of a cluster", fix)
    faults: list[Fault] = []
    found: list[File] = []
    for path in readable:
        try:
            found.append(_read(path))
        except _NotThere as error:
            faults += error.faults
    current = next(filter(None, (file.document.data.get("current-context") for file in found)), None)
    for file in found:
        try:
            return _of_context(file, context or current, found, is_said=bool(context))
        except _NotThere as error:
            faults += error.faults
    raise InputError(faults)


def _of_the_pod() -> SingleConfig:
    """The account of the pod we run in. Its address is in the environment, which cron, for one, does not hand on."""
    lacks = [name for name in ADDRESS if not os.environ.get(name)]
    if lacks:
        fix = "Hand on the pod's environment to what runs this, or set KUBECONFIG."
        raise OutOfReach(str(ACCOUNT), f"the environment does not say {' and '.join(lacks)}", fix)
    try:
        config = KubeConfig.from_service_account(str(ACCOUNT.parent)).get()
    except (ConfigError, OSError, ValueError) as error:
        fix = "Mount the account's token whole: token, namespace and ca.crt."
        raise OutOfReach(str(ACCOUNT), str(error), fix) from None
    assert config is not None  # noqa: S101 - from_service_account sets the current context
    return config


def _read(path: Path) -> File:
    expected = "a kubeconfig: a mapping with clusters, contexts and users"
    fix = "Correct the file, or KUBECONFIG."
    try:
        document = parse(text_of(path), str(path))
    except Unreadable as error:
        raise _NotThere([Fault(str(path), 0, "", str(error), expected, fix)]) from None
    except InputError as error:
        raise _NotThere(error.faults) from None
    if not isinstance(document.data, dict) or "contexts" not in document.data:
        kinds = {type(None): "an empty file", dict: "a mapping without contexts", list: "a list"}
        got = kinds.get(type(document.data), "a single value")
        raise _NotThere([Fault(str(path), 1, "", got, expected, fix)])
    return File(path, document)


def _of_context(file: File, name: str | None, files: Sequence[File], *, is_said: bool) -> SingleConfig:
    contexts = file.entries("contexts")
    if not name:
        fix = "Set cluster.context in platform.yaml, or run `kubectl config use-context NAME`."
        raise _NotThere([file.fault(("current-context",), "nothing", file.one_of("contexts"), fix)])
    if name not in contexts:
        fix = f"Correct cluster.context in platform.yaml, or set KUBECONFIG to the file that has it ({IN_THE_SANDBOX})."
        if not is_said:
            fix = "Run `kubectl config use-context NAME`."
        raise _NotThere([file.fault(("contexts",), f"no context {name!r}", file.one_of("contexts"), fix)])
    faults: list[Fault] = []
    place, entry = contexts[name]
    whose = {kind: _holder(file, kind, entry, files) for kind in ("clusters", "users")}
    cluster = whose["clusters"].referred(ClusterEntry, "clusters", place, entry, faults)
    user = whose["users"].referred(User, "users", place, entry, faults)
    if faults or cluster is None or user is None:
        raise InputError(faults)
    return SingleConfig(name, Context(str(entry["cluster"]), str(entry["user"])), cluster, user, whose["users"].path)


def _holder(file: File, kind: str, context: Mapping[str, Any], files: Sequence[File]) -> File:
    """The file that has the cluster or user which a context of `file` names: itself before any other."""
    name = str(context.get(kind[:-1]))
    return next((one for one in (file, *files) if name in one.entries(kind)), file)
