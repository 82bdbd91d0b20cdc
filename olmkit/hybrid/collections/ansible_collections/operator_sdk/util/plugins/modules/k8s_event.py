"""The Ansible module `k8s_event`: an event about an object."""

from __future__ import annotations

import datetime
from typing import Any

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.operator_sdk.util.plugins.module_utils.api import KUBECONFIG, Api, ApiError

DOCUMENTATION = """
module: k8s_event
short_description: Write an event about an object
description: [Creates an event, or counts one up that exists.]
options:
  name: {description: [Name of the event.], type: str, required: true}
  namespace: {description: [Namespace of the event.], type: str, required: true}
  message: {description: [What happened, for people.], type: str, required: true}
  reason: {description: [Why, for programs.], type: str, required: true}
  type: {description: [Normal or Warning.], type: str, default: Normal, choices: [Normal, Warning]}
  reportingComponent: {description: [Who says it.], type: str, default: ansible-operator}
  source: {description: [The component and the host that say it.], type: dict}
  involvedObject:
    description: [The object that it is about, with apiVersion, kind, name, namespace and uid.]
    type: dict
    required: true
  appendTimestamp: {description: [Add the time to the name.], type: bool, default: false}
  kubeconfig: {description: [The kubeconfig of the run. Default is that of the run.], type: path}
author: [The olmkit maintainers]
"""
OPTIONS = {
    "name": {"type": "str", "required": True},
    "namespace": {"type": "str", "required": True},
    "message": {"type": "str", "required": True},
    "reason": {"type": "str", "required": True},
    "type": {"type": "str", "default": "Normal", "choices": ["Normal", "Warning"]},
    "reportingComponent": {"type": "str", "default": "ansible-operator"},
    "source": {"type": "dict"},
    "involvedObject": {"type": "dict", "required": True},
    "appendTimestamp": {"type": "bool", "default": False},
    "state": {"type": "str", "default": "present", "choices": ["present"]},
    "kubeconfig": KUBECONFIG,
}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec=OPTIONS, supports_check_mode=True)
    if module.check_mode:
        module.exit_json(changed=True)
    try:
        module.exit_json(changed=True, result=work(module.params))
    except ApiError as error:
        module.fail_json(msg=str(error), status=error.code)


def work(values: dict[str, Any]) -> Any:
    """Write the event; the event as the server has it."""
    moment = datetime.datetime.now(datetime.UTC)
    now = moment.strftime("%Y-%m-%dT%H:%M:%SZ")
    suffix = f".{moment.strftime('%Y%m%d%H%M%S%f')}" if values["appendTimestamp"] else ""
    name, namespace = values["name"] + suffix, values["namespace"]
    api = Api(values["kubeconfig"])
    path = f"/api/v1/namespaces/{namespace}/events"
    event = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace},
        "count": 1,
        "firstTimestamp": now,
        "lastTimestamp": now,
        "involvedObject": values["involvedObject"],
        "message": values["message"],
        "reason": values["reason"],
        "reportingComponent": values["reportingComponent"],
        "source": values["source"] or {"component": values["reportingComponent"]},
        "type": values["type"],
    }
    try:
        old = api.call("GET", f"{path}/{name}")
    except ApiError as error:
        if error.code != 404:
            raise
        return api.call("POST", path, event)
    told = ("lastTimestamp", "message", "reason", "type")
    more = {key: event[key] for key in told} | {"count": int(old.get("count") or 0) + 1}
    return api.call("PATCH", f"{path}/{name}", more, "application/merge-patch+json")


if __name__ == "__main__":
    main()
