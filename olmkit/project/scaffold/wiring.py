"""Add controllers to `wiring.py`, the module in which users build their manager.

Statements are added to the existing ones, with their imports; a name that is already in use gets
its group or version as a prefix.
"""

from __future__ import annotations

from collections.abc import Sequence

from olmkit.project.edits import python as python_edits
from olmkit.project.scaffold.kinds import Names
from olmkit.project.scaffold.project import Draft

_FUNCTION = "add_controllers"
_BUILDER_IMPORTS = (
    ("olmkit.runtime", "ControllerBuilder", ""),
    ("olmkit.runtime", "ControllerSettings", ""),
)
_STATEMENTS = {
    "plain": """\
manager.add_controller(
    ControllerBuilder()
    .named("{controller}")
    .watches_for({kind}.gvk, GENERATION_CHANGED{scope})
    .with_settings(ControllerSettings(max_concurrent_reconciles=workers))
    .build({reconciler}(manager.client), registry=manager.registry)
)
""",
    "deploy_image": """\
recorder = EventRecorder(\
manager.cluster, "{controller}-controller", registry=manager.registry)
# With the servers, which stop last: late events go out.
manager.add(recorder, Group.SERVERS)
image = environment.get("{image_variable}", "")
manager.add_controller(
    ControllerBuilder()
    .named("{controller}")
    .watches_for({kind}.gvk, GENERATION_CHANGED{scope})
    .owns({deployment})
    .with_settings(ControllerSettings(max_concurrent_reconciles=workers))
    .build(
        {reconciler}(manager.client, recorder, image=image),
        registry=manager.registry,
    )
)
""",
    "external": """\
manager.add_controller(
    ControllerBuilder()
    .named("{controller}")
    .watches_for({reconciler}.gvk{scope})
    .with_settings(ControllerSettings(max_concurrent_reconciles=workers))
    .build({reconciler}(manager.client), registry=manager.registry)
)
""",
}


def add_controller(draft: Draft, names: Names, values: dict[str, str], *, is_deploy: bool) -> None:
    """Let the manager run the controller of a kind; `is_deploy`: one that keeps Deployments."""
    path = f"{names.folder}/wiring.py"
    data = draft.get(path)
    if data is None:
        _note_unwired(draft, path, values)
        return
    group = names.group_prefix
    wanted = {
        "kind": (values["types_module"], values["kind"], names.version_prefix),
        "reconciler": (values["reconciler_module"], values["reconciler"], group),
        "deployment": (values["reconciler_module"], "DEPLOYMENT", group.upper()),
    }
    called = {
        word: python_edits.local_name(data, path, module, name, alias=prefix + name)
        for word, (module, name, prefix) in wanted.items()
    }
    imports = [
        ("olmkit.runtime", "GENERATION_CHANGED", ""),
        (*wanted["kind"][:2], called["kind"]),
        (*wanted["reconciler"][:2], called["reconciler"]),
    ]
    name = "plain"
    if is_deploy:
        name = "deploy_image"
        imports += [
            ("olmkit.runtime", "EventRecorder", ""),
            ("olmkit.runtime", "Group", ""),
            (*wanted["deployment"][:2], called["deployment"]),
        ]
    scope = "" if names.api.is_namespaced else ", namespaced=False"
    words = values | called | {"scope": scope}
    _put(draft, path, _STATEMENTS[name].format(**words), called["reconciler"], imports)


def add_external_controller(draft: Draft, names: Names, values: dict[str, str]) -> None:
    """Let the manager run the controller of an external kind, which has its GVK."""
    path = f"{names.folder}/wiring.py"
    data = draft.get(path)
    if data is None:
        _note_unwired(draft, path, values)
        return
    module, name = values["reconciler_module"], values["reconciler"]
    alias = names.group_prefix + name
    called = python_edits.local_name(data, path, module, name, alias=alias)
    scope = "" if names.api.is_namespaced else ", namespaced=False"
    words = {"controller": values["controller"], "reconciler": called, "scope": scope}
    statement = _STATEMENTS["external"].format(**words)
    _put(draft, path, statement, called, [(module, name, called)])


def _note_unwired(draft: Draft, path: str, values: dict[str, str]) -> None:
    """Note that there is no module that builds controllers."""
    draft.note(
        f"`{path}` does not exist, so nothing runs `{values['reconciler']}`",
        path,
        "build its controller where your manager is built",
    )


def _put(
    draft: Draft,
    path: str,
    statement: str,
    reconciler: str,
    imports: Sequence[tuple[str, str, str]],
) -> None:
    """Add a statement that builds a controller; imports are module, name and local name.

    Raises `InputError` if the module has no function for it.
    """
    data = draft.get(path) or b""
    wired = python_edits.with_statement(
        data, path, _FUNCTION, statement, marker="builder", sign=f"{reconciler}("
    )
    if wired == data:
        if draft.force:
            draft.note(
                f"`{path}` builds `{reconciler}` already and is kept",
                path,
                "check that it passes what the new one expects",
            )
        return
    for module, imported, alias in sorted([*_BUILDER_IMPORTS, *imports]):
        wired = python_edits.with_import(wired, path, module, imported, alias=alias)
    draft.put(path, wired)
