"""Entries of `watches.yaml`, and errors at their lines."""

from __future__ import annotations

import pytest

from olmkit.hybrid.helm import watches
from olmkit.kube.objects import GVK

FULL = b"""\
- group: demo.example.com
  version: v1
  kind: Cache
  chart: helm-charts/cache
  overrideValues: {image.tag: "${TAG}-$OTHER", empty: $UNSET}
  watchDependentResources: false
  selector: {matchLabels: {tier: db}}
  reconcilePeriod: 1m30s
  dryRunOption: server
  maxConcurrentReconciles: 3
"""


def test_every_field_is_read() -> None:
    reading = watches.read(FULL, {"TAG": "v1", "OTHER": "x"})
    assert reading.findings == ()
    (watch,) = reading.entries
    assert watch.gvk == GVK(group="demo.example.com", version="v1", kind="Cache")
    assert watch.chart == "helm-charts/cache"
    assert watch.override_values == {"image.tag": "v1-x", "empty": ""}
    assert not watch.watches_dependents
    assert watch.selector is not None
    assert watch.selector.matches({"tier": "db"})
    assert not watch.selector.matches({})
    assert watch.reconcile_period == 90
    assert watch.renders_on_server
    assert watch.max_concurrent_reconciles == 3


def test_defaults_apply_and_the_case_of_keys_is_ignored() -> None:
    data = b"- {Group: g.example.com, VERSION: v1, kind: K, chart: c, reconcilePeriod: 0s}\n"
    reading = watches.read(data, {})
    (watch,) = reading.entries
    assert reading.findings == ()
    assert watch.watches_dependents
    assert (watch.selector, watch.reconcile_period, watch.override_values) == (None, None, {})


@pytest.mark.parametrize(
    ("data", "code", "line", "words"),
    [
        (b"kind: K\n", "WCH001", 1, "not a list"),
        (b"- 7\n", "WCH001", 1, "no keys"),
        (b"- {version: v1, kind: K, chart: c}\n- {version: v1, chart: c}\n", "WCH003", 2, "`kind`"),
        (b"- version: v1\n  kind: K\n  chart: ''\n", "WCH003", 1, "`chart`"),
        (b"- version: v1\n  kind: K\n  chart: c\n  selecter: {}\n", "WCH002", 4, "`selecter`"),
        (b"- version: v1\n  kind: K\n  chart: c\n  reconcilePeriod: 5\n", "WCH004", 4, "duration"),
        (
            b"- version: v1\n  kind: K\n  chart: c\n  reconcilePeriod: -5s\n",
            "WCH004",
            4,
            "negative",
        ),
        (
            b"- version: v1\n  kind: K\n  chart: c\n  selector: {app: a}\n",
            "WCH004",
            4,
            "matchLabels",
        ),
        (b"- version: v1\n  kind: K\n  chart: c\n  overrideValues: {a: 1}\n", "WCH004", 4, "`a`"),
        (b"- version: v1\n  kind: K\n  chart: c\n  dryRunOption: both\n", "WCH004", 4, "`server`"),
        (
            b"- version: v1\n  kind: K\n  chart: c\n  maxConcurrentReconciles: 0\n",
            "WCH004",
            4,
            "above 0",
        ),
        (
            b"- {version: v1, kind: K, chart: c}\n- {version: v1, kind: K, chart: d}\n",
            "WCH005",
            2,
            "more than once",
        ),
    ],
)
def test_errors_have_a_line_and_a_rule(data: bytes, code: str, line: int, words: str) -> None:
    (found,) = watches.read(data, {}).findings
    assert found.rule == code
    assert found.at is not None
    assert found.at.line == line
    assert words in found.message


def test_an_entry_with_an_error_is_not_used() -> None:
    data = b"- {version: v1, kind: K, chart: c, selector: x}\n- {version: v1, kind: L, chart: c}\n"
    assert [one.gvk.kind for one in watches.read(data, {}).entries] == ["L"]


def test_overrides_with_templates_are_expanded_from_the_environment() -> None:
    data = (
        b"- {version: v1, kind: K, chart: c, overrideValues: {a: '{{ \"$X\" | upper }}', b: c}}\n"
    )
    (watch,) = watches.read(data, {"X": "y"}).entries
    assert watches.templates(watch) == {"a": '{{ "y" | upper }}'}
