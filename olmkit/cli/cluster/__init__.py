"""The commands for a cluster: install, upgrade, status, why, deploy, `olmkit olm`.

They share only `cli.frame` with other groups; the objects of OLM are in `olm`.
"""
