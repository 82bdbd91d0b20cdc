"""One small function for each rule about bundles and catalogs, and the engine that runs them.

Rules only report: they do not repair, read from disk or print anything.
"""
