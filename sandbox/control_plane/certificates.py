"""Keys, certificates and tokens of one sandbox: made anew each time, readable by their owner only."""

from __future__ import annotations

import ipaddress
import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sandbox.layout import Keyring
from sandbox.places import write_private

_VALID = timedelta(days=365)
_EARLIER = timedelta(hours=1)  # clocks of one machine agree, but a machine's clock may be set back

# Who logs in with a token: user and groups. Controllers have the names Kubernetes' own RBAC roles expect.
USERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "admin": ("warmline:admin", ("system:masters",)),
    "kube-controller-manager": ("system:kube-controller-manager", ()),
    "kube-scheduler": ("system:kube-scheduler", ()),
    "kwok": ("warmline:kwok", ("system:masters",)),
    "keda": ("warmline:keda", ("system:masters",)),
    "prometheus": ("warmline:prometheus", ()),
}

_Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey


def make(directory: Path) -> Keyring:
    """Write a fresh set. ca.crt, tls.crt, tls.key are named as KEDA's --cert-dir wants them."""
    ring = Keyring(directory)
    ca_key, ca = _authority("warmline-sandbox-ca")
    key = ec.generate_private_key(ec.SECP256R1())
    write_private(ring.ca, _pem(ca))
    write_private(ring.key, _pem_key(key))
    write_private(ring.certificate, _pem(_signed("warmline-sandbox", key, ca, ca_key)))

    # The front proxy has an authority of its own: whoever it signs may speak for any user.
    proxy_ca_key, proxy_ca = _authority("warmline-sandbox-front-proxy-ca")
    proxy_key = ec.generate_private_key(ec.SECP256R1())
    write_private(ring.front_proxy_ca, _pem(proxy_ca))
    write_private(ring.front_proxy[0], _pem(_signed("front-proxy-client", proxy_key, proxy_ca, proxy_ca_key)))
    write_private(ring.front_proxy[1], _pem_key(proxy_key))

    accounts_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    write_private(ring.service_accounts[0], _pem_public(accounts_key))
    write_private(ring.service_accounts[1], _pem_key(accounts_key))

    rows = []
    for name, (user, groups) in USERS.items():
        token = secrets.token_urlsafe(32)
        write_private(ring.token(name), token)
        rows.append(f'{token},{user},{name},"{",".join(groups)}"\n' if groups else f"{token},{user},{name}\n")
    write_private(ring.tokens, "".join(rows))
    return ring


def _authority(name: str) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    usage = x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=True,
        crl_sign=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
    certificate = (
        _builder(subject, subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    return key, certificate


def _signed(
    name: str, key: ec.EllipticCurvePrivateKey, ca: x509.Certificate, ca_key: ec.EllipticCurvePrivateKey
) -> x509.Certificate:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    names: list[x509.GeneralName] = [x509.DNSName(name) for name in _SERVER_NAMES]
    names.append(x509.IPAddress(ipaddress.ip_address("127.0.0.1")))
    # Both usages: etcd's peers and its clients present the certificate that the servers also serve.
    usages = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
    return (
        _builder(subject, ca.subject, key.public_key())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        .sign(ca_key, hashes.SHA256())
    )


_SERVER_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default.svc",
    # The API server reaches the metrics adapter by address but expects the name of its Service.
    "keda-metrics-apiserver.keda.svc",
)


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + _VALID)
    )


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _pem_key(key: _Key) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def _pem_public(key: rsa.RSAPrivateKey) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
