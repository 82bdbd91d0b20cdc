"""`watches.yaml` of an Ansible operator: keys, defaults, errors."""

from __future__ import annotations

import pytest

from olmkit.hybrid.ansible import watches as ansible_watches
from olmkit.kube.objects import GVK

KIND = "- version: v1\n  kind: Memcached\n  group: cache.example.com\n"


def findings(text: str) -> list[str]:
    found = ansible_watches.read((KIND + text).encode(), {}).findings
    return [f"{one.rule} {one.at}: {one.message}" for one in found]


def test_an_entry_has_the_defaults_of_ansible_operator_but_values_are_unsafe() -> None:
    (entry,) = ansible_watches.read((KIND + "  role: memcached\n").encode(), {}).entries
    assert entry.gvk == GVK(group="cache.example.com", version="v1", kind="Memcached")
    assert (entry.role, entry.playbook, entry.finalizer) == ("memcached", "", None)
    assert (entry.manages_status, entry.watches_dependents, entry.has_snake_case) == (True,) * 3
    assert (entry.watches_cluster_scoped, entry.watches_annotations) == (False, False)
    assert (entry.max_artifacts, entry.reconcile_period, entry.timeout) == (20, None, None)
    assert entry.is_unsafe


def test_all_keys_are_read_in_any_case() -> None:
    text = KIND + (
        "  Playbook: ${PLAY}/it.yml\n"
        "  vars: {a: $UNSET, b: 1}\n"
        "  finalizer: {name: demo/end, vars: {state: absent}}\n"
        "  reconcileperiod: 1m\n  manageStatus: false\n  maxRunnerArtifacts: 0\n"
        "  watchDependentResources: false\n  watchClusterScopedResources: true\n"
        "  snakeCaseParameters: false\n  watchAnnotationsChanges: true\n  markUnsafe: false\n"
        "  selector: {matchLabels: {a: b}}\n  blacklist: [{version: v1, kind: Secret}]\n"
        "  timeout: 90s\n"
    )
    reading = ansible_watches.read(text.encode(), {"PLAY": "plays"})
    assert reading.findings == ()
    (entry,) = reading.entries
    assert (entry.playbook, entry.variables) == ("plays/it.yml", {"a": "$UNSET", "b": 1})
    assert entry.finalizer is not None
    assert (entry.finalizer.name, entry.finalizer.variables) == ("demo/end", {"state": "absent"})
    assert (entry.reconcile_period, entry.timeout, entry.max_artifacts) == (60, 90, 20)
    assert (entry.manages_status, entry.watches_dependents, entry.is_unsafe) == (False,) * 3
    assert (entry.watches_cluster_scoped, entry.watches_annotations) == (True, True)
    assert entry.blacklist == {GVK(group="", version="v1", kind="Secret")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "WCH003 watches.yaml:1:3: an entry has no `role` and no `playbook`"),
        ("  role: r\n  rolle: r\n", "WCH002 watches.yaml:5:3: `rolle` is not read"),
        (
            "  role: r\n  reconcilePeriod: 5\n",
            "WCH004 watches.yaml:5:20: `reconcilePeriod` must be",
        ),
        (
            "  role: r\n  finalizer: {name: a/b}\n",
            "`finalizer` has no `role`, no `playbook` and no",
        ),
        ("  role: r\n  finalizer: {vars: {}}\n", "`finalizer` has no `name`"),
        ("  role: r\n  vars: [a]\n", "`vars` must be a map of variables"),
        ("  role: r\n  markUnsafe: 'no'\n", "`markUnsafe` must be `true` or `false`"),
        ("  role: r\n  blacklist: {}\n", "`blacklist` must be a list of"),
        ("  role: r\n  maxRunnerArtifacts: -1\n", "`maxRunnerArtifacts` must be a number above 0"),
    ],
)
def test_errors_have_a_place(text: str, expected: str) -> None:
    (found,) = findings(text)
    assert expected in found
