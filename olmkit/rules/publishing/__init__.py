"""Rules for publishing a bundle: what catalogs, their pipelines and OLM v1 require in addition."""
