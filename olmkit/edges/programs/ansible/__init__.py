"""Ansible: the installation, and the processes of runs.

Only `forked_play` and `callbacks` import Ansible, in separate processes. `hybrid.ansible` uses the
runs in an operator.
"""
