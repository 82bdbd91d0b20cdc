"""Ansible operators: variables, access, events and status of runs as values; their reconciler.

The process of a run is in `edges.programs.ansible`; no module here imports Ansible.
"""
