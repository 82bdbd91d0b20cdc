"""The Ansible module `requeue_after`, which sets when the operator runs again for this object."""

from __future__ import annotations

import re

from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = """
module: requeue_after
short_description: Say when to run again
description: [The operator runs again for the object after this time. The last task applies.]
options:
  time: {description: [Hours, minutes and seconds such as 1h30m or 30s.], type: str, required: true}
author: [The olmkit maintainers]
"""
_TIME = re.compile(r"(?=.)(\d+h)?(\d+m)?(\d+s)?")


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={"time": {"type": "str", "required": True}}, supports_check_mode=True
    )
    time = module.params["time"].strip()
    if not _TIME.fullmatch(time):
        module.fail_json(msg=f"`time` must be a time such as 1h30m or 30s: {time!r}")
    module.exit_json(changed=False, period=time)


if __name__ == "__main__":
    main()
