"""What changes between two bundles of a package, and which OLM refuses the upgrade."""
