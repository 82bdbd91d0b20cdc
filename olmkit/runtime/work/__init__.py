"""From a queue of requests to a reconciler: builder, controller, work queue, results.

Where requests come from is in `runtime.watch`.
"""
