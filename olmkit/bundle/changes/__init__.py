"""What changes between two bundles of a package, and which OLM refuses the upgrade.

Changes of a CRD alone are in `kube.crds.changes`, those of catalogs in `catalog.changes`.
"""
