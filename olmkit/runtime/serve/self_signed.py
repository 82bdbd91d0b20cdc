"""Self-signed certificates, for servers whose clients do not verify them.

`python -m olmkit.runtime.serve.self_signed` prints the certificate and its key. That is how a
process gets one at start: the library needs 12 MB of memory, which a child process frees when it
ends.
"""

from __future__ import annotations

import datetime
import ipaddress
import subprocess
import sys
from collections.abc import Sequence

from olmkit.base.diagnostics import ConfigurationError

_LIFETIME = datetime.timedelta(days=365)
_SKEW = datetime.timedelta(hours=1)  # clients' clocks may be slow
_PATIENCE = 30.0
_END = b"-----END CERTIFICATE-----\n"


def make(
    names: Sequence[str] = ("localhost",),
    addresses: Sequence[str] = ("127.0.0.1",),
    *,
    lifetime: datetime.timedelta = _LIFETIME,
) -> tuple[bytes, bytes]:
    """Create a certificate (X.509, P-256) and its key as PEM.

    Raises `ConfigurationError` if the extra `certificates` is not installed.
    """
    try:
        from cryptography import x509
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import ec
    except ImportError as error:
        raise ConfigurationError(
            "a self-signed certificate needs the package cryptography",
            hint='`pip install "olmkit-runtime[certificates]"`, or give a certificate and its key '
            "as files",
        ) from error
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, names[0])])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + lifetime)
        .add_extension(
            x509.SubjectAlternativeName(
                [
                    *(x509.DNSName(name) for name in names),
                    *(x509.IPAddress(ipaddress.ip_address(one)) for one in addresses),
                ]
            ),
            critical=False,
        )
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    return (
        certificate.public_bytes(serialization.Encoding.PEM),
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
    )


def make_apart() -> tuple[bytes, bytes]:
    """Create a certificate in a child process; raise `ConfigurationError` with its error."""
    try:
        child = subprocess.run(  # noqa: S603 - ourselves
            [sys.executable, "-m", __name__],
            check=True,
            capture_output=True,
            timeout=_PATIENCE,
        )
    except subprocess.CalledProcessError as error:
        output = error.stderr.decode(errors="replace").strip()
        raise ConfigurationError(f"cannot create a self-signed certificate: {output}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigurationError(f"cannot create a self-signed certificate: {error}") from error
    certificate, end, key = child.stdout.partition(_END)
    return certificate + end, key


def _main() -> int:
    try:
        certificate, key = make()
    except ConfigurationError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    sys.stdout.buffer.write(certificate + key)
    return 0


if __name__ == "__main__":
    sys.exit(_main())
