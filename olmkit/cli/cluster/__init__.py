"""The commands that talk to a cluster: install, upgrade, status, why, deploy, `olmkit olm`.

They share nothing with other groups but `cli.frame`; what OLM is asked for is in `olm`.
"""
