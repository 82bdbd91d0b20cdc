"""From a queue of requests to a reconciler: builder, controller, work queue, results.

Requests come from `runtime.watch`.
"""
