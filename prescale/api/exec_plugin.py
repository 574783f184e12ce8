"""A kubeconfig's credential plugin, run once and for a bounded time: one that waits for a login never ends by itself.

Source: Kubernetes 1.34, client-go credential plugins (client.authentication.k8s.io).
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
from base64 import b64encode
from contextlib import suppress
from typing import Any

from lightkube.config.kubeconfig import SingleConfig
from lightkube.config.models import User, UserExec

from stacks.reach import OutOfReach
from stacks.wording import short

# A cloud's own answers within a few seconds; cron starts the next run after two minutes.
WITHIN_S = 30.0


def signed_in(config: SingleConfig) -> SingleConfig:
    """`config` with the credentials that its user's plugin prints; as it is where it has no plugin, or a token.

    Raises:
        OutOfReach: the plugin is not there, failed, did not end, or printed no credentials.
    """
    user = config.user
    if user is None or user.exec is None or user.token or user.token_file:
        return config
    plugin = _Plugin(user.exec, config)
    status = plugin.status()
    certificate, key = status.get("clientCertificateData"), status.get("clientKeyData")
    found = User(token=status.get("token"))
    if isinstance(certificate, str) and isinstance(key, str):
        found.client_cert_data, found.client_key_data = (
            b64encode(text.encode()).decode() for text in (certificate, key)
        )
    elif not isinstance(found.token, str) or not found.token:
        raise plugin.failed("printed no ExecCredential with a token or a certificate")
    return config._replace(user=found)


class _Plugin:
    def __init__(self, plugin: UserExec, config: SingleConfig) -> None:
        self.address = config.cluster.server
        command = plugin.command
        # As kubectl does: a path counts from the kubeconfig's folder, a bare name is looked for in PATH.
        self.program = str(config.abs_file(command)) if os.sep in command else command
        self.argv = [self.program, *(plugin.args or [])]
        info = {"apiVersion": plugin.apiVersion, "kind": "ExecCredential", "spec": {"interactive": False}}
        said = {variable.name: variable.value for variable in plugin.env or []}
        self.environment = {**os.environ, "KUBERNETES_EXEC_INFO": json.dumps(info), **said}
        self.hint = plugin.installHint

    def status(self) -> dict[str, Any]:
        """What it prints as `status` of an ExecCredential."""
        try:
            status = json.loads(self._output())["status"]
        except (ValueError, LookupError, TypeError):
            status = None
        if not isinstance(status, dict):
            raise self.failed("printed no ExecCredential with a token or a certificate")
        return status

    def failed(self, how: str, said: bytes | None = b"") -> OutOfReach:
        # Its arguments are not told: a password may be among them.
        lines = (said or b"").decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        reason = f"the kubeconfig's credential plugin {self.program} {how}{f': {short(last)}' if last else ''}"
        return OutOfReach(self.address, reason, "Run it by hand to see what it waits for or lacks.")

    def _output(self) -> bytes:
        try:
            process = subprocess.Popen(
                self.argv,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except OSError as error:
            how = f"cannot be started ({str(error.strerror).lower()})"
            raise self.failed(how, (self.hint or "").encode()) from None
        with process:
            try:
                output, said = process.communicate(timeout=WITHIN_S)
            except BaseException as error:
                # Its children too: one of them may be what waits.
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                if isinstance(error, subprocess.TimeoutExpired):
                    raise self.failed(f"gave no answer within {WITHIN_S:g} s", error.stderr) from None
                raise
        if process.returncode:
            raise self.failed(f"ended with {process.returncode}", said)
        return output
