"""The data of the hub's pages, as values.

Texts are raw (Markdown, YAML, messages of publishers): rendering escapes, cleans and limits them.
Each `href`, `icon` and `*_href` is relative to the first page and percent-encoded; a folder ends
with a slash. None or an empty value means that the catalog does not state it. The pages as HTML are
in `olmkit.hub.looks`.
"""
