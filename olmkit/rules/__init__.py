"""One small function for each rule about bundles and catalogs, and the engine that runs them.

Rules only report: nothing is repaired, read from disk or printed here.
"""
