"""The pages of one package of a catalog: what they show, as values, and their files.

Lists of packages and builds are in `hub.builds`, HTML in `hub.looks`.
"""
