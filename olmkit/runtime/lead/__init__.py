"""Leader election: which replica works, and that a former leader does not write.

Starting and stopping what a leader runs is in `runtime.manager`.
"""
