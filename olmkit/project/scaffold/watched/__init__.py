"""Projects that a `watches.yaml` describes: Helm and Ansible, with the layout of operator-sdk.

The text of the files is in `project/templates/watched`, `watched_helm` and `watched_ansible`.
"""
