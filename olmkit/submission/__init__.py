"""Repositories of operators from which catalogs are built: their contents and additions.

`operators` is one operator of such a repository with all its versions, `graph` its upgrade graph,
`catalogs` its catalogs next to their templates, `changes` the changes of a pull request, `settings`
the configuration of the repository, `preparation` the files of a new version.
"""
