"""The library of olmkit: everything that its commands do, as Python functions.

Short calls do a common task in one line. They call jobs, one function for each task. A job reads
its input, computes the result and writes it. It returns a value, and never prints or ends the
process.

The names that this package exports are public, and each is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from olmkit.base import exports

if TYPE_CHECKING:
    from olmkit.base.diagnostics import ConfigurationError as ConfigurationError
    from olmkit.base.diagnostics import Diagnostic as Diagnostic
    from olmkit.base.diagnostics import Fix as Fix
    from olmkit.base.diagnostics import InputError as InputError
    from olmkit.base.diagnostics import Location as Location
    from olmkit.base.diagnostics import OlmkitError as OlmkitError
    from olmkit.base.diagnostics import Related as Related
    from olmkit.base.diagnostics import RemoteError as RemoteError
    from olmkit.base.diagnostics import Severity as Severity
    from olmkit.base.diagnostics import has_errors as has_errors
    from olmkit.base.tree import Change as Change
    from olmkit.base.tree import Changes as Changes
    from olmkit.base.tree import Tree as Tree
    from olmkit.edges.images.access_settings import Access as Access
    from olmkit.edges.images.access_settings import of_process as of_process
    from olmkit.jobs.image.publish import Published as Published
    from olmkit.jobs.short_calls import generate as generate
    from olmkit.jobs.short_calls import generate_bundle as generate_bundle
    from olmkit.jobs.short_calls import push_bundle as push_bundle
    from olmkit.jobs.short_calls import push_catalog as push_catalog
    from olmkit.jobs.short_calls import push_image as push_image
    from olmkit.jobs.short_calls import render_catalog as render_catalog
    from olmkit.jobs.short_calls import validate_bundle as validate_bundle
    from olmkit.jobs.short_calls import validate_catalog as validate_catalog
    from olmkit.oci.content import Platform as Platform

_NAMES = {
    "olmkit.base.diagnostics": (
        "ConfigurationError",
        "Diagnostic",
        "Fix",
        "InputError",
        "Location",
        "OlmkitError",
        "Related",
        "RemoteError",
        "Severity",
        "has_errors",
    ),
    "olmkit.base.tree": (
        "Change",
        "Changes",
        "Tree",
    ),
    "olmkit.edges.images.access_settings": (
        "Access",
        "of_process",
    ),
    "olmkit.jobs.image.publish": ("Published",),
    "olmkit.jobs.short_calls": (
        "generate",
        "generate_bundle",
        "push_bundle",
        "push_catalog",
        "push_image",
        "render_catalog",
        "validate_bundle",
        "validate_catalog",
    ),
    "olmkit.oci.content": ("Platform",),
}

__getattr__, __dir__, __all__ = exports.lazy(__name__, _NAMES)
