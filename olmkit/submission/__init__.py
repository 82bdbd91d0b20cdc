"""Repositories of operators from which catalogs are built: what they hold, and what is added.

`operators` is one operator of such a repository with all its versions, `graph` its upgrade graph,
`catalogs` its catalogs next to their templates, `changes` what a pull request changes, `settings`
the configuration of the repository, `preparation` the files of a new version.
"""
