"""The comparison of CRDs, compared with OLM's behavior when an operator is upgraded.

For each change of `tests/vectors/crd_changes.yaml`, OLM installs an operator with the old CRD,
objects are created, and OLM upgrades it to the new CRD: the upgrade must fail if and only if olmkit
reports that a stored object is no longer valid. Operators whose upgrade must work are in one
namespace, where OLM upgrades all of them or none.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.crd_changes import CASES, crd_of, object_of, specs_of

pytestmark = pytest.mark.e2e

PORT = "15320"
SOURCE = "crd-upgrades"
FAULT = "error validating existing CRs"
# OLM needs some seconds to resolve a namespace, so not every refusal is tested each time.
EVERY = int(os.environ.get("OLMKIT_CRD_UPGRADES_EVERY", "16"))
ALL = dict(enumerate(CASES))
STORED = frozenset([number for number, name in ALL.items() if CASES[name].get("stored")][::EVERY])
NUMBERS = {
    number: name
    for number, name in ALL.items()
    if number in STORED or not CASES[name].get("stored")
}


def _group(version: str) -> str:
    return f"operators.coreos.com/{version}"


def _csv(number: int, version: str) -> dict[str, Any]:
    """An operator without a Deployment, which is ready at once."""
    owned = {"name": f"thing{number}s.example.com", "kind": f"Thing{number}", "version": "v1"}
    modes = [{"type": "OwnNamespace", "supported": True}]
    return {
        "apiVersion": _group("v1alpha1"),
        "kind": "ClusterServiceVersion",
        "metadata": {"name": f"thing{number}.v{version}"},
        "spec": {
            "displayName": f"Thing {number}",
            "version": version,
            "installModes": modes,
            "install": {"strategy": "deployment", "spec": {"deployments": []}},
            "customresourcedefinitions": {"owned": [owned]},
        },
    }


def _blobs(number: int, case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    package = f"thing{number}"
    yield {"schema": "olm.package", "name": package, "defaultChannel": "stable"}
    old, new = f"{package}.v1.0.0", f"{package}.v2.0.0"
    entries = [{"name": old}, {"name": new, "replaces": old}]
    yield {"schema": "olm.channel", "package": package, "name": "stable", "entries": entries}
    for version, key in (("1.0.0", "old"), ("2.0.0", "new")):
        own = {"type": "olm.package", "value": {"packageName": package, "version": version}}
        objects = (_csv(number, version), crd_of(number, case[key]))
        inline = [
            {
                "type": "olm.bundle.object",
                "value": {"data": base64.b64encode(json.dumps(one).encode()).decode()},
            }
            for one in objects
        ]
        yield {
            "schema": "olm.bundle",
            "name": f"{package}.v{version}",
            "package": package,
            "image": "",
            "properties": [own, *inline],
        }


def _namespaces() -> Iterator[dict[str, Any]]:
    for place in sorted(set(map(_place, NUMBERS))):
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": place}}
        yield {
            "apiVersion": _group("v1"),
            "kind": "OperatorGroup",
            "metadata": {"name": "own", "namespace": place},
            "spec": {"targetNamespaces": [place]},
        }


def _requested(number: int) -> dict[str, Any]:
    name = f"thing{number}"
    wanted = {
        "name": name,
        "channel": "stable",
        "source": SOURCE,
        "sourceNamespace": "olm",
        "startingCSV": f"{name}.v1.0.0",
        "installPlanApproval": "Manual",
    }
    return {
        "apiVersion": _group("v1alpha1"),
        "kind": "Subscription",
        "metadata": {"name": name, "namespace": _place(number)},
        "spec": wanted,
    }


def _place(number: int) -> str:
    return f"crd-upgrade-{number}" if number in STORED else "crd-upgrades"


def _list(items: list[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


@pytest.fixture(scope="module")
def source(cluster: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("catalog")
    blobs = [one for number, name in NUMBERS.items() for one in _blobs(number, CASES[name])]
    (folder / "catalog.json").write_text("\n".join(map(json.dumps, blobs)))
    words = ["catalog", "serve", str(folder), "--host", cluster.outside, "--port", PORT]
    process = subprocess.Popen([sys.executable, "-m", "olmkit", *words])
    spec = {"sourceType": "grpc", "address": f"{cluster.outside}:{PORT}"}
    made = {
        "apiVersion": _group("v1alpha1"),
        "kind": "CatalogSource",
        "metadata": {"name": SOURCE, "namespace": "olm"},
        "spec": spec,
    }
    try:
        cluster.apply(json.dumps(made))
        yield
    finally:
        places = sorted(set(map(_place, NUMBERS)))
        crds = [f"thing{number}s.example.com" for number in NUMBERS]
        cluster.kubectl("delete", "catalogsource", SOURCE, "-n", "olm", check=False)
        cluster.kubectl("delete", "namespace", *places, "--wait=false", check=False)
        cluster.kubectl("delete", "crd", *crds, "--wait=false", check=False)
        process.terminate()
        process.wait()


@pytest.fixture(scope="module")
def phases(
    cluster: Any,
    source: None,  # noqa: ARG001
    eventually: Callable[..., Any],
) -> dict[str, list[int]]:
    """The result of each upgrade: the operators by the phase of their plan, or `refused`."""

    def plans(version: str) -> dict[int, dict[str, Any]]:
        found = json.loads(cluster.kubectl("get", "installplans", "-A", "-o", "json"))["items"]
        csvs = {f"thing{number}.v{version}": number for number in NUMBERS}
        return {
            csvs[name]: plan
            for plan in found
            for name in plan["spec"]["clusterServiceVersionNames"]
            if name in csvs
        }

    def approved(version: str) -> None:
        eventually(lambda: len(plans(version)) == len(NUMBERS), 600, "all have a plan")
        for plan in plans(version).values():
            name, place = (plan["metadata"][key] for key in ("name", "namespace"))
            if not plan["spec"]["approved"]:
                words = ("--type=merge", "-p", '{"spec":{"approved":true}}')
                cluster.kubectl("patch", "installplan", name, "-n", place, *words)

    def found_phases(version: str) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for number, plan in plans(version).items():
            status = plan.get("status") or {}
            failed = FAULT in json.dumps(status.get("conditions") or [])
            phase = "refused" if failed else status.get("phase", "")
            found.setdefault(phase, []).append(number)
        return found

    cluster.apply(_list([*_namespaces(), *map(_requested, NUMBERS)]))
    approved("1.0.0")
    eventually(
        lambda: len(found_phases("1.0.0").get("Complete", ())) == len(NUMBERS),
        600,
        lambda: f"all are installed: {found_phases('1.0.0')}",
    )

    for number, name in NUMBERS.items():
        made = [object_of(number, spec, f"a{i}") for i, spec in enumerate(specs_of(CASES[name]))]
        for one in made:
            one["metadata"]["namespace"] = _place(number)
        # A sample can violate conditions of the old CRD that are not checked.
        cluster.kubectl("create", "--validate=false", "-f", "-", text=_list(made), check=False)
    approved("2.0.0")
    eventually(
        lambda: set(found_phases("2.0.0")) <= {"Complete", "refused"},
        600,
        lambda: f"all upgrades have ended: {found_phases('2.0.0')}",
    )
    return found_phases("2.0.0")


def test_olm_upgrades_the_operators_that_the_comparison_accepts(
    phases: dict[str, list[int]],
) -> None:
    assert set(phases["refused"]) == STORED


def test_an_operator_that_was_installed_with_others_can_be_uninstalled(
    cluster: Any, run_olmkit: Any, phases: dict[str, list[int]]
) -> None:
    number = min(phases["Complete"])
    place = _place(number)
    plans = json.loads(cluster.kubectl("get", "installplans", "-n", place, "-o", "json"))["items"]
    assert max(len(one["spec"]["clusterServiceVersionNames"]) for one in plans) > 1
    run_olmkit("uninstall", f"thing{number}", "-n", place, "--yes", "--delete-crds",
           "--delete-operands", "--timeout", "120s")  # fmt: skip
    assert cluster.get("operators.operators.coreos.com", f"thing{number}.{place}") is None
    assert cluster.get("crd", f"thing{number}s.example.com") is None


def test_a_refused_upgrade_is_retried_after_its_objects_were_corrected(
    cluster: Any, run_olmkit: Any, eventually: Callable[..., Any], phases: dict[str, list[int]]
) -> None:
    number = min(phases["refused"])
    package, place = f"thing{number}", _place(number)
    new, old = f"{package}.v2.0.0", f"{package}.v1.0.0"

    def why() -> dict[str, Any]:
        done = run_olmkit.try_("why", package, "-n", place, "-o", "json", code=None)
        return dict(done.json["result"])

    # OLM repeats the plan for a minute, and then never again.
    eventually(lambda: why()["standing"] == "blocked", what="the plan has failed")
    found = why()
    assert found["cause"] == "crd-rejects-objects"
    assert f"`olmkit upgrade {package} -n {place} --retry`" in found["hint"]
    retry = ("upgrade", package, "-n", place, "--retry")
    refused = run_olmkit.try_(*retry, code=1)
    assert "refuses existing objects" in refused.err
    assert cluster.get("csv", new, "-n", place)

    case = CASES[NUMBERS[number]]
    good = specs_of({"old": case["new"], "new": case["new"]})[0]
    kind = f"{package}s.example.com"
    for one in cluster.list(kind, "-n", place):
        cluster.kubectl("replace", "-f", "-", text=json.dumps(one | {"spec": good}))
    assert run_olmkit.try_(*retry, "-o", "json").json["result"]["hops"] == [new]

    assert cluster.get("csv", new, "-n", place)["status"]["phase"] == "Succeeded"
    assert cluster.get("csv", old, "-n", place) is None
    assert cluster.get("subscription", package, "-n", place)["status"]["installedCSV"] == new
    (plan,) = [
        one
        for one in cluster.list("installplan", "-n", place)
        if new in one["spec"]["clusterServiceVersionNames"]
    ]
    assert plan["status"]["phase"] == "Complete"
    assert why()["cause"] == "healthy"
