"""Options of one version of OLM are refused with the other one."""

from __future__ import annotations

import pytest

from olmkit.cli import main


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("upgrade", "a", "--olm", "v1", "--pull-secret", "b"), "`--pull-secret` is for OLM v0"),
        (("upgrade", "a", "--olm", "v1", "--catalog", "b"), "`--catalog` is for OLM v0"),
        (("upgrade", "a", "--olm", "v1", "--retry"), "`--retry` is for OLM v0"),
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
