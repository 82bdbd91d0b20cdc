"""What is wrong with a TLS certificate, from the messages of Go's programs.

The kubelet, containerd, OLM and the API server quote the errors of Go's `crypto/x509`.
"""

from __future__ import annotations

import re
from enum import Enum


class CertificateFault(Enum):
    """Why a client does not accept a certificate."""

    EXPIRED = "expired"
    NOT_YET_VALID = "not yet valid"
    OTHER_NAME = "other name"
    UNTRUSTED = "untrusted"


_TIME = re.compile(r"has expired(?: or is not yet valid)?(?::.* is (?P<order>after|before) )?")
_NAME = re.compile(
    r"certificate is valid for |certificate is not valid for any names|"
    r"cannot validate certificate for |legacy Common Name"
)


def find_fault(message: str) -> CertificateFault | None:
    """Return what is wrong with the certificate that an error is about; None for other errors."""
    if "x509" not in message and "certificate" not in message:
        return None
    time = _TIME.search(message)
    if time is not None:
        early = time["order"] == "before"
        return CertificateFault.NOT_YET_VALID if early else CertificateFault.EXPIRED
    return CertificateFault.OTHER_NAME if _NAME.search(message) else CertificateFault.UNTRUSTED


def webhook_advice(fault: CertificateFault, authorities: str) -> str:
    """Return what to do about the certificate of a webhook's server.

    `authorities` is the field with the authorities that the API server trusts for it.
    """
    match fault:
        case CertificateFault.EXPIRED:
            return (
                "renew the certificate of the webhook's server, which has expired, and its "
                f"authority in {authorities}"
            )
        case CertificateFault.NOT_YET_VALID:
            return "correct the clock of the API server, or of what issued the certificate"
        case CertificateFault.OTHER_NAME:
            return (
                "let the webhook's server have a certificate for the name of its Service, "
                "`SERVICE.NAMESPACE.svc`"
            )
        case CertificateFault.UNTRUSTED:
            return f"renew {authorities}, or the certificate of the webhook's server"
