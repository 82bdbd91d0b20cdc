"""The scorecard: tests of a bundle that its configuration names, and what they report.

`configuration` reads the tests, `results` what a test printed, `storage` what it stored; `pods`
makes the objects that run tests in a cluster. The built-in tests are in `olmkit.rules.scorecard`,
since one of them runs rules.
"""
