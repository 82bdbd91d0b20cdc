"""Ansible: what is installed, and the processes of runs.

Only `forked_play` and `callbacks` import Ansible; they work in separate processes. What an operator
does with a run is in `hybrid.ansible`.
"""
