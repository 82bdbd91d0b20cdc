"""The pages of one package of a catalog: their values and files.

Lists of packages and builds are in `hub.builds`, HTML in `hub.looks`.
"""
