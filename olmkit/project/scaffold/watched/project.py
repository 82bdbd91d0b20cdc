"""The files that `init` creates for a Helm or an Ansible operator."""

from __future__ import annotations

from olmkit.base.tree import Tree
from olmkit.project.config import WATCHED_LAYOUTS
from olmkit.project.scaffold import project as scaffold
from olmkit.project.scaffold import template_files
from olmkit.project.scaffold.project import Draft, InitRequest

LAYOUTS = WATCHED_LAYOUTS
WATCHES_FILE = "watches.yaml"
_OTHERS = ("config/manager/manager.yaml", "config/rbac/role.yaml")


def init(request: InitRequest, language: str, present: Tree, templates: Tree) -> Draft:
    """Return the files of a new project; raises like `scaffold.project.init`."""
    scaffold.check_request(request)
    draft = Draft(present)
    values = scaffold.init_values(request) | {"language": language, "layout": LAYOUTS[language]}
    files = template_files.folder(templates, "init", values)
    wanted = {
        path: content.data
        for path, content in files.items()
        if path.startswith("config/") and path not in _OTHERS
    }
    for folder in ("watched", f"watched_{language}"):
        more = template_files.folder(templates, folder, values)
        wanted |= {path: content.data for path, content in more.items()}
    for path, data in sorted(wanted.items()):
        draft.make(path, data)
        if path in present:
            draft.note(f"`{path}` existed and is kept", path)
    if request.ci:
        scaffold.add_workflow(draft, request.ci, language, templates)
    if request.multigroup:
        scaffold.set_flag(draft, "multigroup", on=True)
    if request.namespaced:
        scaffold.set_flag(draft, "namespaced", on=True)
        scaffold.watch_own_namespace(draft)
    return draft
