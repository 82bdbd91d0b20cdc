"""What Go's TLS errors mean."""

from __future__ import annotations

import pytest

from olmkit.olm.explain import certificates
from olmkit.olm.explain.certificates import CertificateFault

TIME = "tls: failed to verify certificate: x509: certificate has expired or is not yet valid"


@pytest.mark.parametrize(
    ("words", "fault"),
    [
        (TIME, CertificateFault.EXPIRED),
        (f"{TIME}: current time 2026-11-30T19:10:25Z is after 2026-11-30T18:40:25Z",
         CertificateFault.EXPIRED),
        (f"{TIME}: current time 2026-11-30T19:10:25Z is before 2026-12-01T00:00:00Z",
         CertificateFault.NOT_YET_VALID),
        ("x509: certificate is valid for other.pg.svc, not hooks.pg.svc",
         CertificateFault.OTHER_NAME),
        ("x509: certificate is not valid for any names, but wanted to match hooks.pg.svc",
         CertificateFault.OTHER_NAME),
        ("x509: cannot validate certificate for 10.0.0.1 because it doesn't contain any IP SANs",
         CertificateFault.OTHER_NAME),
        ("x509: certificate relies on legacy Common Name field, use SANs instead",
         CertificateFault.OTHER_NAME),
        ("x509: certificate signed by unknown authority", CertificateFault.UNTRUSTED),
        ("dial tcp 10.0.0.1:443: connect: connection refused", None),
    ],
)  # fmt: skip
def test_an_error_has_its_fault(words: str, fault: CertificateFault | None) -> None:
    assert certificates.find_fault(words) is fault


@pytest.mark.parametrize("fault", CertificateFault)
def test_each_fault_has_its_own_advice(fault: CertificateFault) -> None:
    every = {one: certificates.webhook_advice(one, "`caBundle`") for one in CertificateFault}

    assert list(every.values()).count(every[fault]) == 1
