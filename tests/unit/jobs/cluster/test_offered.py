"""Which addresses of catalogs this machine can try."""

from __future__ import annotations

import pytest

from olmkit.jobs.cluster import offered


@pytest.mark.parametrize(
    ("address", "is_reachable"),
    [
        ("catalog.olm.svc:50051", False),
        ("127.0.0.1:50051", False),
        ("[::1]:50051", False),
        ("localhost:50051", False),
        ("127.example.com:50051", True),
        ("localhost.example.com:50051", True),
        ("10.0.0.7:50051", True),
    ],
)
def test_an_address_of_the_pod_itself_or_of_a_service_is_not_tried(
    address: str, is_reachable: bool
) -> None:
    assert offered.is_reachable(address) is is_reachable
