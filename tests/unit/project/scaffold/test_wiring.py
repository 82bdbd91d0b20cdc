"""Controllers in the module in which users build their manager."""

from __future__ import annotations

import pytest

from olmkit.base.diagnostics import InputError, Location
from olmkit.base.tree import Tree
from olmkit.project.config import Api
from olmkit.project.scaffold import wiring as scaffold_wiring
from olmkit.project.scaffold.kinds import Names
from olmkit.project.scaffold.project import Draft

PATH = "toy/wiring.py"
EMPTY = "def add_controllers(manager, environment, *, workers=2):\n    pass\n"
VALUES = {
    "kind": "Toy",
    "types_module": "toy.api.v1.toy",
    "reconciler": "ToyReconciler",
    "reconciler_module": "toy.reconcilers.toy",
    "controller": "toy",
    "image_variable": "TOY_IMAGE",
}


def names(*, is_namespaced: bool = True) -> Names:
    at = Location(path="PROJECT")
    api = Api(
        group="games", domain="x.org", version="v1", kind="Toy", at=at, is_namespaced=is_namespaced
    )
    return Names("toy", "toy", api, multigroup=False)


def draft_of(text: str | None, *, force: bool = False) -> Draft:
    return Draft(Tree({PATH: text.encode()} if text is not None else {}), force=force)


def wired(draft: Draft, *, is_deploy: bool = False, **how: bool) -> str:
    scaffold_wiring.add_controller(draft, names(**how), VALUES, is_deploy=is_deploy)
    text = (draft.get(PATH) or b"").decode()
    compile(text, PATH, "exec")
    return text


def test_a_controller_is_added_with_its_imports_once() -> None:
    draft = draft_of(EMPTY)
    text = wired(draft)
    assert "from toy.api.v1.toy import Toy\n" in text
    assert ".watches_for(Toy.gvk, GENERATION_CHANGED)\n" in text
    assert ".build(ToyReconciler(manager.client), registry=manager.registry)\n" in text
    assert wired(draft) == text


def test_a_controller_of_deployments_has_an_image_and_events() -> None:
    text = wired(draft_of(EMPTY), is_deploy=True)
    assert 'image = environment.get("TOY_IMAGE", "")\n' in text
    assert ".owns(DEPLOYMENT)\n" in text
    assert "manager.add(recorder, Group.SERVERS)\n" in text


def test_a_cluster_scoped_kind_is_watched_in_the_cluster() -> None:
    assert "GENERATION_CHANGED, namespaced=False)\n" in wired(draft_of(EMPTY), is_namespaced=False)


def test_a_name_in_use_gets_the_group_as_prefix() -> None:
    text = wired(draft_of("from other import Toy, ToyReconciler\n\n\n" + EMPTY))
    assert "import Toy as GamesV1Toy\n" in text
    assert ".build(GamesToyReconciler(manager.client)" in text


def test_an_external_kind_is_recognized_by_its_group() -> None:
    draft = draft_of(EMPTY)
    scaffold_wiring.add_external_controller(draft, names(), VALUES)
    text = (draft.get(PATH) or b"").decode()
    assert ".watches_for(ToyReconciler.gvk)\n" in text
    assert "toy.api" not in text


def test_an_existing_controller_is_kept_and_reported_with_force() -> None:
    draft = draft_of(wired(draft_of(EMPTY)), force=True)
    wired(draft)
    [note] = draft.notes
    assert note.message == f"`{PATH}` builds `ToyReconciler` already and is kept"


@pytest.mark.parametrize("is_external", [False, True])
def test_a_missing_module_is_reported(is_external: bool) -> None:
    draft = draft_of(None)
    if is_external:
        scaffold_wiring.add_external_controller(draft, names(), VALUES)
    else:
        wired(draft)
    [note] = draft.notes
    assert note.message == f"`{PATH}` does not exist, so nothing runs `ToyReconciler`"


def test_a_module_without_the_function_is_refused_with_the_lines_to_add() -> None:
    with pytest.raises(InputError, match="no function `add_controllers`") as caught:
        wired(draft_of("x = 1\n"))
    assert "ToyReconciler" in caught.value.hint
