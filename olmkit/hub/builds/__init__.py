"""The hub as a whole: all its pages, its files, and how they are built or made on request.

The pages of one package are in `hub.package`; files are written by `jobs.hub`.
"""
