"""Which hosts are reached through a proxy, by the rules of Go."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.edges.network import proxies


@pytest.mark.parametrize(
    ("url", "environment", "expected"),
    [
        ("https://quay.io/", {}, None),
        ("https://quay.io/", {"https_proxy": "http://p:1"}, "http://p:1"),
        ("https://quay.io/", {"HTTPS_PROXY": "p:1"}, "http://p:1"),
        ("https://quay.io/", {"http_proxy": "http://p:1"}, None),
        ("https://quay.io/", {"https_proxy": "http://p:1", "no_proxy": "quay.io"}, None),
        ("https://a.quay.io/", {"https_proxy": "http://p:1", "NO_PROXY": ".quay.io"}, None),
        ("https://quay.io/", {"https_proxy": "http://p:1", "no_proxy": "*"}, None),
        ("http://127.0.0.1:5000/", {"http_proxy": "http://p:1"}, None),
        ("http://localhost/", {"http_proxy": "http://p:1"}, None),
        ("https://[::1]:6443/", {"https_proxy": "http://p:1"}, None),
    ],
)
def test_the_proxy_comes_from_the_environment(
    url: str, environment: dict[str, str], expected: str | None
) -> None:
    assert proxies.proxy_for(url, environment) == expected


@pytest.mark.parametrize(
    ("host", "listed"),
    [
        ("172.30.0.1", "10.0.0.0/16,172.30.0.0/16"),
        ("172.30.0.1", "172.30.0.1"),
        ("172.30.0.1", "172.30.0.1:443"),
        ("[fd00::1]", "fd00::/8"),
        ("[fd00::1]", "fd00::1"),
        ("[fd00::1]", "[fd00:0::1]:443"),
        ("kubernetes.default.svc", ".svc"),
        ("kubernetes.default.svc", "x, *.svc , y"),
        ("API.example.com", "example.com"),
        ("example.com", "Example.com:443"),
    ],
)
def test_a_host_in_no_proxy_is_reached_directly(host: str, listed: str) -> None:
    assert proxies.proxy_for(f"https://{host}", {"HTTPS_PROXY": "p:1", "NO_PROXY": listed}) is None


@pytest.mark.parametrize(
    ("host", "listed"),
    [
        ("172.31.0.1", "172.30.0.0/16"),
        ("172.30.0.1", "172.30.0.1:6443"),
        ("[fd00::1]", "10.0.0.0/8"),
        ("svc", ".svc"),
        ("anexample.com", "example.com"),
        ("example.com", "example.com:80"),
        ("172.30.0.1", "172.30.0.0/99,::,,nonsense/x"),
    ],
)
def test_a_host_that_is_not_in_no_proxy_is_not(host: str, listed: str) -> None:
    environment = {"HTTPS_PROXY": "p:1", "NO_PROXY": listed}
    assert proxies.proxy_for(f"https://{host}", environment) == "http://p:1"


@pytest.mark.parametrize("value", ["http://u:hunter2@[::", "http://u:hunter2@p:many", "http://"])
def test_an_invalid_url_is_reported_and_not_shown(value: str) -> None:
    with pytest.raises(
        ConfigurationError, match="`HTTPS_PROXY` does not contain the URL"
    ) as caught:
        proxies.proxy_for("https://quay.io/", {"HTTPS_PROXY": value})
    assert "hunter2" not in caught.value.message + caught.value.hint
    assert proxies.proxy_for("https://localhost/", {"HTTPS_PROXY": value}) is None
