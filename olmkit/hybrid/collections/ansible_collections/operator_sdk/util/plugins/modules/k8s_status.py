"""The Ansible module `k8s_status`, with which a play writes the status of an object."""

from __future__ import annotations

import datetime
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.operator_sdk.util.plugins.module_utils import status as statuses
from ansible_collections.operator_sdk.util.plugins.module_utils.api import KUBECONFIG, Api, ApiError

DOCUMENTATION = """
module: k8s_status
short_description: Write the status of an object
description: [Merges fields and conditions into the status of an object.]
options:
  api_version: {description: [Its API version.], type: str, default: v1, aliases: [api, version]}
  kind: {description: [Its kind.], type: str, required: true}
  name: {description: [Its name.], type: str, required: true}
  namespace: {description: [Its namespace.], type: str}
  status: {description: [Fields to merge into the status.], type: dict}
  conditions:
    description: [Conditions with type, status, reason and message. Each replaces that of its type.]
    type: list
    elements: dict
  replace: {description: [Replace the whole status.], type: bool, default: false, aliases: [force]}
  replace_lists: {description: [Replace the list of conditions.], type: bool, default: false}
  kubeconfig: {description: [The kubeconfig of the run. Default is that of the run.], type: path}
author: [The olmkit maintainers]
"""
OPTIONS = {
    "api_version": {"type": "str", "default": "v1", "aliases": ["api", "version"]},
    "kind": {"type": "str", "required": True},
    "name": {"type": "str", "required": True},
    "namespace": {"type": "str"},
    "status": {"type": "dict"},
    "conditions": {"type": "list", "elements": "dict"},
    "replace": {"type": "bool", "default": False, "aliases": ["force"]},
    "replace_lists": {"type": "bool", "default": False},
    "kubeconfig": KUBECONFIG,
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    given = module.params
    conditions = given["conditions"] or []
    if fault := statuses.fault(conditions):
        module.fail_json(msg=fault)
    try:
        module.exit_json(**work(given, conditions, is_check=module.check_mode))
    except ApiError as error:
        module.fail_json(msg=str(error), status=error.code)


def work(values: dict[str, Any], conditions: list[Any], *, is_check: bool) -> dict[str, Any]:
    """Write the status if it differs; return the module's result."""
    api = Api(values["kubeconfig"])
    path = (
        f"{api.path(values['api_version'], values['kind'], values['namespace'])}/{values['name']}"
    )
    found = api.call("GET", path)
    present = found.get("status") or {}
    wanted = statuses.wanted(
        present,
        values["status"] or {},
        conditions,
        now=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        replace=values["replace"],
        replace_lists=values["replace_lists"],
    )
    diff = {"before": {"status": present}, "after": {"status": wanted}}
    if wanted == present:
        return {"changed": False, "result": found}
    if not is_check:
        # With the version that was read: a change in between is not lost.
        found = api.call("PUT", f"{path}/status", {**found, "status": wanted})
    return {"changed": True, "result": found, "diff": diff}


if __name__ == "__main__":
    main()
