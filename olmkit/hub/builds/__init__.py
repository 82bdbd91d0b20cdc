"""The whole hub: its pages and files, built at once or on request.

The pages of one package are in `hub.package`; files are written by `jobs.hub`.
"""
