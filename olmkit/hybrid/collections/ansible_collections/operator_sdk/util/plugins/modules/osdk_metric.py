"""The Ansible module `osdk_metric`: a metric of the operator that a play reports."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from typing import Any

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: osdk_metric
short_description: Report a metric
description: [The operator serves it next to its own metrics. One of the four kinds is required.]
options:
  name: {description: [Name of the metric.], type: str, required: true}
  description: {description: [What it measures.], type: str, required: true}
  counter: {description: ["What to do: increment, or add."], type: dict}
  gauge:
    description: ["What to do: set, add, subtract, increment, decrement or set_to_current_time."]
    type: dict
  histogram: {description: ["What to do: observe."], type: dict}
  summary: {description: ["What to do: observe."], type: dict}
author: [The olmkit maintainers]
"""
KINDS = ("counter", "gauge", "histogram", "summary")
URL = "http://127.0.0.1:5050/metrics"


def main() -> None:
    """Run the module."""
    texts = {name: {"type": "str", "required": True} for name in ("name", "description")}
    module = AnsibleModule(
        argument_spec=texts | {name: {"type": "dict"} for name in KINDS},
        mutually_exclusive=[KINDS],
        required_one_of=[KINDS],
        supports_check_mode=True,
    )
    given = {key: module.params[key] for key in (*texts, *KINDS) if module.params[key] is not None}
    for kind in KINDS:
        if kind in given:
            given[kind] = {key: value(one) for key, one in given[kind].items()}
    if not module.check_mode and (fault := report(given)):
        module.fail_json(msg=fault)
    module.exit_json(changed=True)


def value(given: Any) -> Any:
    """Return a number or a truth value, which Ansible may have as a string."""
    if not isinstance(given, str):
        return given
    if given.lower() in ("yes", "true", "on", "no", "false", "off"):
        return given.lower() in ("yes", "true", "on")
    try:
        return float(given)
    except ValueError:
        return given


def report(values: dict[str, Any]) -> str:
    """Send it to the operator; return the error, or an empty string."""
    request = urllib.request.Request(  # noqa: S310 - the operator's
        os.environ.get("OLMKIT_PLAY_METRICS") or URL,
        data=json.dumps(values).encode(),
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=60):  # noqa: S310
            return ""
    except urllib.error.HTTPError as error:
        return error.read().decode(errors="replace")
    except OSError as error:
        return f"the operator takes no metrics: {error}"


if __name__ == "__main__":
    main()
