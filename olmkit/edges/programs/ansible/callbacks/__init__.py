"""Plugins that Ansible loads from this folder.

They write to `edges.programs.ansible.event_stream`.
"""
