"""Which cluster: a kubeconfig's context, or the account of the pod we run in."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from stacks.reach import OutOfReach

if TYPE_CHECKING:
    from lightkube.config.kubeconfig import SingleConfig

ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


def choose(context: str | None) -> SingleConfig:
    """The configuration of `context`, or of the current context.

    $KUBECONFIG (the first of its files that has the context), else ~/.kube/config, else the pod's own account.

    Raises:
        OutOfReach: there is none, it cannot be read, or it lacks the context or its cluster or user.
    """
    from lightkube.config.kubeconfig import KubeConfig

    said = os.environ.get("KUBECONFIG")
    parts = (said or "~/.kube/config").split(os.pathsep)
    # Not Path's own: that raises for a user who has no home.
    files = [Path(os.path.expanduser(part)) for part in parts if part]  # noqa: PTH111
    readable = [file for file in files if file.is_file()]
    if not readable:
        if said is None and ACCOUNT.is_file():
            config = KubeConfig.from_service_account().get()
            assert config is not None  # noqa: S101 - from_service_account sets the current context
            return config
        names = os.pathsep.join(map(str, files))
        fix = 'Set KUBECONFIG (in the sandbox: eval "$(warmline sandbox env)").'
        raise OutOfReach(names, "no such kubeconfig, and this is no pod of a cluster", fix)
    found = [_read(file, context) for file in readable]
    for one in found:
        if not isinstance(one, OutOfReach):
            return one
    raise next(error for error in found if isinstance(error, OutOfReach))


def _read(file: Path, context: str | None) -> SingleConfig | OutOfReach:
    import msgspec
    import yaml
    from lightkube.config.kubeconfig import KubeConfig
    from lightkube.core.exceptions import ConfigError

    try:
        config = KubeConfig.from_file(file).get(context)
    except ConfigError as error:
        return OutOfReach(str(file), str(error), "Correct cluster.context in platform.yaml, or the kubeconfig.")
    except RecursionError:
        return OutOfReach(str(file), "not a kubeconfig: brackets in brackets without end", "Correct the file.")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, yaml.YAMLError, msgspec.MsgspecError) as error:
        missing = f"it has no {error}" if isinstance(error, KeyError) else " ".join(str(error).split())
        return OutOfReach(str(file), f"not a kubeconfig: {missing}", "Correct the file, or KUBECONFIG.")
    if config is None or config.user is None:
        return OutOfReach(str(file), "its context has no user", "Give the context a user.")
    return config
