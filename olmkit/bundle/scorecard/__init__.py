"""The scorecard: tests of a bundle that its configuration names, and what they report.

`configuration` reads the tests, `results` the output of a test, `storage` its stored files; `pods`
creates the objects that run tests in a cluster. The built-in tests are in `olmkit.rules.scorecard`,
because one of them runs rules.
"""
