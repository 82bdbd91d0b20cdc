"""Options of one version of OLM are refused with the other one."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import ConfigurationError
from olmkit.cli import main
from olmkit.cli.cluster import extension


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("upgrade", "a", "--olm", "v1", "--pull-secret", "b"), "`--pull-secret` is for OLM v0"),
        (("upgrade", "a", "--olm", "v1", "--catalog", "b"), "`--catalog` is for OLM v0"),
        (("upgrade", "a", "--olm", "v1", "--retry"), "`--retry` is for OLM v0"),
        (("install", "--bundle", "b", "--olm", "v1"), "with `olmkit catalog add`"),
        (("install", "a", "--approval", "manual", "--olm", "v1"), "range in `--version`"),
        (("install", "a", "--olm", "v1", "--mode", "OwnNamespace"), "watches all namespaces"),
        (("upgrade", "a", "--olm", "v1", "--catalog", "b"), "`olmkit catalog deploy IMAGE"),
        (("install", "a", "--catalog", "clustercatalog:b"), "install from it with `--olm v1`"),
        (
            ("install", "a", "--catalog", "catalogsource:b/c", "--catalog-namespace", "d"),
            "`catalogsource:b/c` is not in namespace `d`",
        ),
        (("olm", "install", "--olm", "v1"), "the command installs OLM v0"),
        (("catalog", "check", "a", "--previous", "b"), "did you mean `--against`?"),
        (("upgrade", "a", "--bundle", "b"), "`--bundle`, not both"),
        (("install", "a", "--olm", "v1", "--mode", "OwnNamespace"), "`--mode` is for OLM v0"),
        (("install", "a", "--olm", "v1", "--poll", "90s"), "`90s` is not a duration in whole"),
        (("install", "a", "--service-account", "b"), "`--service-account` is for OLM v1"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_an_option_of_the_other_version_is_invalid_usage(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(list(words)) == 2
    assert message in capsys.readouterr().err


def test_a_catalog_of_the_cluster_can_have_its_prefix() -> None:
    assert extension.catalog_name("clustercatalog:shelf") == "shelf"
    assert extension.catalog_name("quay.io/example/catalog:v1") == "quay.io/example/catalog:v1"
    with pytest.raises(ConfigurationError, match="is a catalog of OLM v0"):
        extension.catalog_name("catalogsource:olm/shelf")
