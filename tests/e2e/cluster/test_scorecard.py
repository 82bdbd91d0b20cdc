"""`olmkit bundle scorecard` with tests that are images: in pods, with storage, and cleaned up."""

from __future__ import annotations

import json
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.e2e

CHECK = """import json, os, pathlib, sys
manifests = sorted(path.name for path in pathlib.Path("/bundle/manifests").iterdir())
storage = os.environ.get("SCORECARD_STORAGE")
if storage:
    pathlib.Path(storage, "sub").mkdir()
    pathlib.Path(storage, "sub/report.txt").write_text("kept")
    pathlib.Path(storage, "link").symlink_to("/etc/passwd")
result = {"name": sys.argv[1], "state": sys.argv[2], "log": os.environ["SCORECARD_NAMESPACE"]}
if result["state"] != "pass":
    result["errors"] = manifests
print(json.dumps({"results": [result]}))
"""


@pytest.fixture(scope="module")
def image(cluster: Any, run_olmkit: Any, base: str) -> str:
    """An image with Python, a shell and tar, in the cluster's registry."""
    name = f"{cluster.registry}/scorecard-tools:1"
    run_olmkit("image", "copy", base, name)
    return name


@pytest.fixture
def bundle(root: Path, tmp_path: Path) -> Callable[..., Path]:
    """Build a bundle whose scorecard has these tests; each is a name and its arguments."""

    def make(*stages: dict[str, Any]) -> Path:
        folder = tmp_path / "bundle"
        shutil.copytree(root / "bundle/0.0.2", folder)
        (folder / "tests/scorecard/check.py").write_text(CHECK)
        config = {"kind": "Configuration", "metadata": {"name": "c"}, "stages": stages}
        (folder / "tests/scorecard/config.yaml").write_text(yaml.safe_dump(config))
        return folder

    return make


@pytest.fixture
def place(cluster: Any, namespace: str, eventually: Callable[..., Any]) -> str:
    """A namespace with its service account."""
    cluster.kubectl("create", "namespace", namespace)
    eventually(
        lambda: cluster.kubectl(
            "get", "serviceaccount", "default", "-n", namespace, "--ignore-not-found", "-o", "name"
        )
    )
    return namespace


def one(image: str, name: str, state: str, *, storage: str = "", **more: Any) -> dict[str, Any]:
    found = {
        "image": image,
        "entrypoint": ["python3", "/bundle/tests/scorecard/check.py", name, state],
        "labels": {"suite": "own", "test": name},
        **more,
    }
    return found | ({"storage": {"spec": {"mountPath": {"path": storage}}}} if storage else {})


def options(place: str, image: str, *more: str) -> tuple[str, ...]:
    return ("-n", place, "-u", image, "-b", image, "-w", "3m", "-o", "json", *more)


def remaining_objects(cluster: Any, place: str) -> list[str]:
    found = cluster.kubectl("get", "pod,configmap", "-n", place, "-o", "name").split()
    return [name for name in found if "scorecard-test" in name]


def test_images_run_as_pods_with_the_bundle_and_their_files_are_copied(
    cluster: Any,
    run_olmkit: Any,
    bundle: Callable[..., Path],
    image: str,
    place: str,
    eventually: Callable[..., Any],
    tmp_path: Path,
) -> None:
    folder = bundle(
        {"tests": [one(image, "stored", "pass", storage="/data")]},
        {
            "parallel": True,
            "tests": [
                one(image, "failed", "fail"),
                one(image, "silent", "pass", entrypoint=["true"]),
                one(
                    "quay.io/operator-framework/scorecard-test:v1.42.3",
                    "spec",
                    "",
                    entrypoint=["scorecard-test", "basic-check-spec"],
                ),
            ],
        },
    )
    output = tmp_path / "output"
    words = options(place, image, "-t", str(output))
    done = run_olmkit.try_("bundle", "scorecard", folder, *words, code=1)

    found = {
        item["spec"]["labels"]["test"]: item["status"]["results"] for item in done.json["items"]
    }
    assert list(found) == ["stored", "failed", "silent", "spec"]
    assert found["stored"] == [
        {"name": "stored", "log": place, "state": "pass", "creationTimestamp": None}
    ]
    assert found["failed"][0]["errors"] == sorted(path.name for path in folder.glob("manifests/*"))
    assert "is not JSON" in found["silent"][0]["errors"][0]
    assert found["spec"][0]["state"] == "pass"
    stored = output / "own/stored"
    assert (stored / "sub/report.txt").read_text() == "kept"
    assert not (stored / "link").exists()
    eventually(
        lambda: not remaining_objects(cluster, place), what="the objects of the tests are gone"
    )


def test_restricted_pods_refuse_an_image_that_runs_as_root(
    run_olmkit: Any, bundle: Callable[..., Path], image: str, place: str
) -> None:
    folder = bundle({"tests": [one(image, "root", "pass")]})
    begin = time.monotonic()
    words = options(place, image, "--pod-security", "restricted")
    done = run_olmkit.try_("bundle", "scorecard", folder, *words, code=1)
    [result] = done.json["items"][0]["status"]["results"]
    assert "image will run as root" in result["errors"][0]
    assert time.monotonic() - begin < 60


def test_a_missing_image_is_named_at_the_time_limit(
    cluster: Any,
    run_olmkit: Any,
    bundle: Callable[..., Path],
    image: str,
    place: str,
    eventually: Callable[..., Any],
) -> None:
    folder = bundle({"tests": [one(f"{cluster.registry}/missing:1", "missing", "pass")]})
    for seconds in (15, 60, 240):  # a busy node needs time to pull the image
        words = options(place, image, "-w", f"{seconds}s")
        done = run_olmkit.try_("bundle", "scorecard", folder, *words, code=3)
        [result] = done.json["items"][0]["status"]["results"]
        assert f"the tests did not end within {seconds} s" in done.err
        if "ImagePull" in result["errors"][0]:
            break
    wanted = f"did not end within {seconds} s: container `scorecard-test` waits: "
    assert wanted in result["errors"][0]
    eventually(
        lambda: not remaining_objects(cluster, place), what="the objects of the tests are gone"
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_leaves_nothing(
    cluster: Any,
    run_olmkit: Any,
    bundle: Callable[..., Path],
    image: str,
    place: str,
    eventually: Callable[..., Any],
    number: int,
) -> None:
    folder = bundle({"tests": [one(image, "slow", "pass", entrypoint=["sleep", "600"])]})
    process = run_olmkit.start("bundle", "scorecard", folder, *options(place, image))
    eventually(lambda: len(remaining_objects(cluster, place)) == 2, what="the pod is there")
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == 130
    eventually(
        lambda: not remaining_objects(cluster, place), what="the objects of the test are gone"
    )


def test_objects_are_kept_on_request(
    cluster: Any, run_olmkit: Any, bundle: Callable[..., Path], image: str, place: str
) -> None:
    folder = bundle({"tests": [one(image, "kept", "pass")]})
    done = run_olmkit.try_("bundle", "scorecard", folder, *options(place, image, "-x"))
    assert json.loads(done.out)["items"][0]["status"]["results"][0]["state"] == "pass"
    assert len(remaining_objects(cluster, place)) == 2
