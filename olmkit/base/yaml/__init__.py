"""Read and write YAML like Go's yaml.v2; the only package that imports YAML libraries.

Callers use `base.documents`; edits of files that people wrote are in `project.edits`.
"""

from olmkit.base.diagnostics import ConfigurationError

try:
    import yaml as yaml
except ModuleNotFoundError as error:  # an operator in a pod reads no YAML
    raise ConfigurationError(
        "reading YAML needs the package PyYAML",
        hint='install it: `pip install "olmkit-runtime[yaml]"`',
    ) from error
