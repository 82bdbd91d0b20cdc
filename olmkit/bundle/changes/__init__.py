"""The changes between two bundles of a package, and whether OLM rejects the upgrade.

Changes of a CRD alone are in `kube.crds.changes`, those of catalogs in `catalog.changes`.
"""
