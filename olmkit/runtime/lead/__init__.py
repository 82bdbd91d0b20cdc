"""Leader election, and the fence that stops writes of a former leader.

`runtime.manager` starts and stops what a leader runs.
"""
