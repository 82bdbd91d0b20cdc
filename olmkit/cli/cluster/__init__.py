"""The commands that talk to a cluster: install, upgrade, status, why, deploy, `olmkit olm`.

They share nothing with other groups but `cli.frame`; the objects of OLM are in `olm`.
"""
