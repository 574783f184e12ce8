"""What keeps a cluster from answering, each with its address and what to do about it."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import msgspec
from lightkube import ApiError
from lightkube.core.exceptions import ConfigError, LoadResourceError

from stacks.reach import OutOfReach

CERTIFICATES = "Correct the certificates of the kubeconfig's cluster and user, or the cluster's tls-server-name."

TIMEOUT = httpx2.Timeout(10.0, connect=5.0)


@contextmanager
def reaching(address: str) -> Iterator[None]:
    """Whatever keeps the cluster from answering becomes `OutOfReach`, with its address."""
    try:
        yield
    except ApiError as error:
        code, message = error.status.code, error.status.message
        raise OutOfReach(address, f"it answered {code}: {message}", _fix(code)) from None
    except httpx2.HTTPStatusError as error:
        code = error.response.status_code
        raise OutOfReach(address, f"it answered {code}", _fix(code)) from None
    except httpx2.TimeoutException:
        reason = f"no answer within {TIMEOUT.read:.0f} s"
        raise OutOfReach(address, reason, "Is it up, and reachable from here?") from None
    except ConfigError as error:
        raise OutOfReach(address, str(error), "Correct the kubeconfig's user.") from None
    except ImportError as error:  # what a socks:// proxy asks for
        raise OutOfReach(address, str(error), "Name an http:// proxy, or none.") from None
    except httpx2.LocalProtocolError:
        # Its own words have the header in them, and with it the token.
        reason = "the credentials are empty, or have a character in them that cannot be sent"
        raise OutOfReach(address, reason, "Correct the token of the kubeconfig's user.") from None
    except ssl.SSLError as error:
        raise OutOfReach(address, str(error), CERTIFICATES) from None
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        fix = CERTIFICATES if "CERTIFICATE" in str(error) else "Is it up, and is the kubeconfig's address right?"
        raise OutOfReach(address, str(error), fix) from None
    except (msgspec.MsgspecError, LoadResourceError, LookupError, AttributeError, TypeError, ValueError) as error:
        reason = f"its answer is not one of a Kubernetes API server ({' '.join(str(error).split())})"
        raise OutOfReach(address, reason, "Is the kubeconfig's address right?") from None


def _fix(code: int | None) -> str:
    if code == 401:
        return "Renew the credentials of the kubeconfig's user."
    if code == 403:
        return "Give the user a Role that may do this."
    if code == 404:  # of a kind that every Kubernetes API server knows
        return "Is the kubeconfig's address right?"
    return "Look at the API server."
