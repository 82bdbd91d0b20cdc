"""Projects of operator-sdk: generated files compared with the reference tools.

CRDs, roles and webhooks are compared with controller-gen's, overlays with kustomize's,
and bundles with operator-sdk's own. `OPERATOR_SDK`, `CONTROLLER_GEN` and `KUSTOMIZE` can
name the programs; otherwise they are built once. Needs a Go toolchain and its module cache.
"""

from __future__ import annotations

import difflib
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from olmkit.base.diagnostics import InputError
from olmkit.jobs.bundle import generate as bundle
from olmkit.jobs.bundle.generate import BundleGenerateOptions
from olmkit.jobs.project import overlay

pytestmark = pytest.mark.e2e

GO = "--plugins go/v4 --repo example.org/toy --fetch-deps=false --skip-go-version-check"
HELM = "--plugins helm"
API = "create api --group crew --version v1 --kind Captain --resource --controller --make=false"
V2 = API.replace("v1", "v2").replace("--controller", "--controller=false")
HOOK = "create webhook --group crew --version v1 --kind Captain --make=false"
OTHER = API.replace("crew", "ship").replace("Captain", "Frigate")
IMAGE = (
    "create api --group crew --version v1 --kind Captain --make=false --image=m:1.6 "
    "--plugins=deploy-image/v1-alpha"
)
POD = "create webhook --group core --version v1 --kind Pod --defaulting --make=false"
CHART = "create api --group demo --version v1alpha1 --kind Nginx"
LAYOUTS = {
    "no kind": (GO, []),
    "one kind": (GO, [API]),
    "no controller": (GO, [API.replace("--controller", "--controller=false")]),
    "several groups": (GO, ["edit --multigroup", API, OTHER]),
    "handlers": (GO, [API, f"{HOOK} --defaulting --programmatic-validation"]),
    "conversion": (GO, [API, V2, f"{HOOK} --conversion --spoke v2"]),
    "all webhooks": (GO, [API, V2, f"{HOOK} --conversion --spoke v2 --defaulting"]),
    "of the cluster": (GO, [f"{API} --plural captainz --namespaced=false"]),
    "image": (GO, [IMAGE]),
    "port and user": (
        GO,
        [f"{IMAGE} --image-container-port=80 --image-container-command=a,b --run-as-user=1001"],
    ),
    "core kind": (GO, [API.replace("crew", "apps").replace("--resource", "--resource=false")]),
    "core webhook": (GO, [API, POD]),
    "chart": (HELM, [CHART]),
    "two charts": (HELM, [CHART, "create api --group demo --version v1 --kind Redis"]),
    "chart at once": (f"{HELM} --group demo --version v1 --kind Nginx", []),
}
# Times and programs, and empty fields of Go's types: `shared` by all
# files of a bundle, like comments.
FREE = re.compile(
    rb"    createdAt: .*\n|.*operators\.operatorframework\.io[./](metrics\.)?builder.*\n"
    rb"|  creationTimestamp: null\n|^status:\n(  .*\n)+"
    rb"|^ *storage:\n +spec:\n +mountPath: {}\n|^ *#.*\n|^\n",
    re.MULTILINE,
)


# Bundles of special manifests differ in these lines, each in a file with such a name.
STREAMS = Path(__file__).parent / "bundle_streams"
DIFFERENT = {
    # The user's image list in the base is kept.
    "rich-base": {"+  relatedImages:", "+  - image: b", "+    name: a"},
    # A port of a Service without `targetPort` leads to the port with that number.
    "webhooks": {"-    targetPort: 0", "+    targetPort: 443"},
    # Whole numbers are not rounded.
    "samples": {
        '-            "n": 18446744073709552000,',
        '+            "n": 18446744073709551615,',
    },
}


def begin(
    program: str, layout: str, place: Path, run_once: Callable[..., None], version: str
) -> None:
    """Let operator-sdk create the project, up to the base CSV."""
    flags, steps = LAYOUTS[layout]
    commands = (
        f"init --domain my.org --project-name toy {flags}",
        *steps,
        "generate kustomize manifests -q --interactive=false",
    )
    typed = ([program, *words.split()] for words in commands)
    run_once(place, *typed, variables={"GOFLAGS": "-mod=mod"}, version=version)


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".olmkit-generated"
    }


def taken_bundle(place: Path) -> dict[str, bytes]:
    """Return the generated bundle, without parts that can differ; it is removed."""
    dockerfile = place / "bundle.Dockerfile"
    found = files(place / "bundle") | {dockerfile.name: dockerfile.read_bytes()}
    shutil.rmtree(place / "bundle")
    dockerfile.unlink()
    return {name: FREE.sub(b"", data) for name, data in found.items()}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_generated_files_are_those_of_the_reference_tools(
    layout: str,
    operator_sdk: str,
    go_version: str,
    run_once: Callable[..., None],
    same_generated: Callable[..., None],
    same_overlays: Callable[[Path], None],
    tmp_path: Path,
) -> None:
    begin(operator_sdk, layout, tmp_path, run_once, go_version)
    if LAYOUTS[layout][0] == GO:
        same_generated(tmp_path, has_kinds=bool(LAYOUTS[layout][1]))
    same_overlays(tmp_path)
    options = BundleGenerateOptions(version="0.0.1", channels="a,b", default_channel="a")
    try:
        rendered = overlay.stream(
            overlay.with_image(overlay.render(tmp_path, "config/manifests"), "")
        )
    except InputError as error:  # as kustomize did
        with pytest.raises(InputError, match=re.escape(error.message)):
            bundle.generate(tmp_path, options)
        return
    words = "generate bundle -q --version 0.0.1 --channels a,b --default-channel a"
    subprocess.run(
        [operator_sdk, *words.split()],
        cwd=tmp_path,
        input=rendered,
        check=True,
        capture_output=True,
    )
    wanted = taken_bundle(tmp_path)

    bundle.generate(tmp_path, options)

    assert taken_bundle(tmp_path) == wanted


@pytest.mark.parametrize("stream", sorted(path.stem for path in STREAMS.glob("*.yaml")))
@pytest.mark.parametrize("accounts", ["", "other,ghost"])
def test_a_bundle_of_special_manifests_is_that_of_operator_sdk(
    stream: str, accounts: str, operator_sdk: str, tmp_path: Path
) -> None:
    data = (STREAMS / f"{stream}.yaml").read_bytes()
    words = 'projectName: kit\nlayout: [go.kubebuilder.io/v4]\ndomain: example.com\nversion: "3"\n'
    (tmp_path / "PROJECT").write_text(words)
    flags = f"--extra-service-accounts={accounts}" if accounts else ""
    subprocess.run(
        [operator_sdk, *f"generate bundle -q --version 0.1.0 {flags}".split()],
        cwd=tmp_path,
        input=data,
        check=True,
        capture_output=True,
    )
    wanted = taken_bundle(tmp_path)

    names = tuple(accounts.split(",")) if accounts else ()
    options = BundleGenerateOptions(
        version="0.1.0", inputs=("-",), stdin=data, extra_service_accounts=names
    )
    bundle.generate(tmp_path, options)

    found = taken_bundle(tmp_path)
    assert sorted(found) == sorted(wanted)
    lines = {line for name in wanted for line in _changed(wanted[name], found[name])}
    assert lines == DIFFERENT.get(stream, set())


def _changed(before: bytes, after: bytes) -> list[str]:
    lines = difflib.unified_diff(
        before.decode().splitlines(), after.decode().splitlines(), lineterm="", n=0
    )
    return [line for line in lines if not line.startswith(("---", "+++", "@@"))]
