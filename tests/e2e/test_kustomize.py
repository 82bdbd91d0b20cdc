"""Scaffolds of kubebuilder and olmkit, compared with controller-gen and kustomize.

`KUSTOMIZE`, `KUBEBUILDER` and `CONTROLLER_GEN` can name the programs; otherwise they are built
once. Needs a Go toolchain and its module cache.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from olmkit.jobs.project import scaffold as project
from olmkit.project.scaffold.api import ApiRequest, DeployImage
from olmkit.project.scaffold.project import InitRequest
from olmkit.project.scaffold.webhook import WebhookRequest

pytestmark = pytest.mark.e2e

API = "create api --group crew --version v1 --kind Captain --resource --controller"
V2 = "create api --group crew --version v2 --kind Captain --resource --controller=false"
HOOK = "create webhook --group crew --version v1 --kind Captain"
OTHER = "create api --group ship --version v1beta1 --kind Frigate --resource --controller"
IMAGE = (
    "create api --group crew --version v1 --kind Captain --image=m:1.6 "
    "--plugins=deploy-image/v1-alpha"
)
CORE = "create api --group apps --version v1 --kind Deployment --resource=false --controller"
LAYOUTS: dict[str, tuple[str, Sequence[str]]] = {
    "one kind": ("", [API]),
    "several groups": ("--multigroup", [API, OTHER]),
    "namespaced": ("--namespaced", [API]),
    "handlers": ("", [API, f"{HOOK} --defaulting --programmatic-validation"]),
    "conversion": ("", [API, V2, f"{HOOK} --conversion --spoke v2"]),
    "all": ("", [API, V2, f"{HOOK} --conversion --spoke v2 --defaulting"]),
    "namespaced groups": ("--namespaced --multigroup", [API, OTHER, f"{HOOK} --defaulting"]),
    "plural": ("", [f"{API} --plural captainz --namespaced=false"]),
    "image": ("", [IMAGE]),
    "later namespaced": ("", [API, "edit --namespaced", "edit --multigroup"]),
    "core kind": ("", [CORE]),
    "second later": ("", [API, f"{HOOK} --programmatic-validation", f"{API} --force"]),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_scaffolds_of_kubebuilder_are_generated_and_rendered_as_by_the_reference_tools(
    layout: str,
    same_generated: Callable[..., None],
    same_overlays: Callable[[Path], None],
    kubebuilder: str,
    go_version: str,
    run_once: Callable[..., None],
    tmp_path: Path,
) -> None:
    flags, steps = LAYOUTS[layout]
    begin = "init --domain my.org --repo example.org/toy --project-name toy --fetch-deps=false"
    commands = [
        [kubebuilder, *step.split(), *(["--make=false"] if step.startswith("create") else [])]
        for step in (f"{begin} --skip-go-version-check {flags}", *steps)
    ]
    run_once(tmp_path, *commands, variables={}, version=go_version)
    same_generated(tmp_path)
    same_overlays(tmp_path)


def test_scaffolds_of_olmkit_are_rendered_as_in_kustomize(
    same_overlays: Callable[[Path], None], tmp_path: Path
) -> None:
    place = tmp_path / "toy"
    project.init(place, InitRequest(domain="example.com", name="toy"))
    deploy = DeployImage(image="m:1.6", port=11211)
    project.create_api(
        place, ApiRequest(group="cache", version="v1", kind="Memcached", deploy=deploy)
    )
    project.create_api(
        place, ApiRequest(group="cache", version="v2", kind="Memcached", controller=False)
    )
    request = WebhookRequest(
        group="cache", version="v1", kind="Memcached", defaulting=True, conversion=True
    )
    project.create_webhook(place, request)
    same_overlays(place)
