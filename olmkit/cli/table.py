"""The table of commands: the module and the one-line summary of each.

A test compares the summaries with the commands' own help. Nothing is imported for the table, so
that the help of olmkit itself is fast.
"""

from __future__ import annotations

# Only for types: `collections.abc` would import `collections`.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SUMMARY = (
    "One tool for the whole lifecycle of a Kubernetes operator on OLM: from types to upgrades."
)
EPILOG = "Each command has --help with an example."
MAX_WIDTH = 100


class CommandEntry:
    """The location of a command (`module:attribute`), and its summary."""

    __slots__ = ("summary", "target")

    def __init__(self, target: str, summary: str) -> None:
        self.target = target
        self.summary = summary


GROUPS: Mapping[str, str] = {
    "bundle": "Generate, validate, compare and publish bundles.",
    "catalog": "Build, validate, inspect and serve catalogs.",
    "hub": "Show what catalogs contain, as web pages.",
    "image": "Build, inspect and copy images.",
    "olm": "Inspect, install or remove OLM itself.",
    "catalog list": "List the contents of a catalog.",
    "catalog template": "Render catalog templates of one kind.",
    "create": "Add a kind or a webhook to a project.",
    "submit": "Check and prepare submissions to the repositories of catalogs.",
}

COMMANDS: Mapping[str, CommandEntry] = {
    "hub build": CommandEntry(
        "olmkit.cli.hub.build:build", "Build web pages that show what catalogs contain."
    ),
    "hub serve": CommandEntry(
        "olmkit.cli.hub.serve:serve", "Serve web pages that show what catalogs or a bundle contain."
    ),
    "image build": CommandEntry(
        "olmkit.cli.image.build:build",
        "Build the image of an operator, without a container engine.",
    ),
    "image copy": CommandEntry(
        "olmkit.cli.image.copy:copy", "Copy an image to another location, with all its digests."
    ),
    "image inspect": CommandEntry(
        "olmkit.cli.image.inspect:inspect",
        "Show the platforms, labels and layers of an image.",
    ),
    "image mirror": CommandEntry(
        "olmkit.cli.image.mirror:mirror",
        "Copy a catalog and all images that it needs to a registry or a directory.",
    ),
    "image push": CommandEntry("olmkit.cli.image.push:push", "Push an image to a registry."),
    "image sign": CommandEntry(
        "olmkit.cli.image.sign:sign", "Sign images with a private key, as cosign does."
    ),
    "image verify": CommandEntry(
        "olmkit.cli.image.verify:verify", "Verify the signatures of images with public keys."
    ),
    "bundle build": CommandEntry(
        "olmkit.cli.bundle.build:build", "Build the images of bundles, without a container engine."
    ),
    "bundle push": CommandEntry(
        "olmkit.cli.bundle.push:push", "Push the image of a bundle to a registry."
    ),
    "bundle scorecard": CommandEntry(
        "olmkit.cli.bundle.scorecard:scorecard",
        "Run the scorecard tests of a bundle: a directory or an image.",
    ),
    "catalog add": CommandEntry("olmkit.cli.catalog.add:add", "Add a new version to a catalog."),
    "catalog build": CommandEntry(
        "olmkit.cli.catalog.build:build",
        "Build the image of a catalog, without a container engine.",
    ),
    "catalog push": CommandEntry(
        "olmkit.cli.catalog.push:push", "Push the image of a catalog to a registry."
    ),
    "bundle generate": CommandEntry(
        "olmkit.cli.bundle.generate:generate",
        "Write the bundle of a project from its manifests and base CSV.",
    ),
    "explain": CommandEntry(
        "olmkit.cli.project.explain:explain",
        "Explain the code of a finding; without a code, list all codes.",
    ),
    "bundle diff": CommandEntry(
        "olmkit.cli.bundle.diff:diff",
        "Show what changes between two bundles, and what blocks an upgrade.",
    ),
    "bundle show": CommandEntry(
        "olmkit.cli.bundle.show:show",
        "Show what a bundle contains: APIs, permissions, images, upgrade edges.",
    ),
    "bundle convert": CommandEntry(
        "olmkit.cli.bundle.convert:convert",
        "Convert package manifests, the predecessor of bundles, to bundles.",
    ),
    "bundle unpack": CommandEntry(
        "olmkit.cli.bundle.unpack:unpack", "Write the files of a bundle image into a directory."
    ),
    "bundle validate": CommandEntry(
        "olmkit.cli.bundle.validate:validate", "Validate bundles: directories or images."
    ),
    "catalog check": CommandEntry(
        "olmkit.cli.catalog.upgrades.check:check",
        "Check that every installed version can still upgrade.",
    ),
    "catalog deploy": CommandEntry(
        "olmkit.cli.catalog.serving.deploy:deploy",
        "Deploy a server for a catalog that several pods share, and wait until it runs.",
    ),
    "catalog diff": CommandEntry(
        "olmkit.cli.catalog.diff:diff",
        "Show the differences between two catalogs: graph, images, deprecations.",
    ),
    "catalog filter": CommandEntry(
        "olmkit.cli.catalog.mirroring.filter:filter_",
        "Write a part of a catalog: selected packages, channels and versions.",
    ),
    "catalog graph": CommandEntry(
        "olmkit.cli.catalog.graph:draw", "Show the upgrade graphs of a catalog, or of one package."
    ),
    "catalog images": CommandEntry(
        "olmkit.cli.catalog.mirroring.images:images",
        "List the images that a catalog, or a part of it, needs.",
    ),
    "catalog init": CommandEntry(
        "olmkit.cli.catalog.init:init", "Write the `olm.package` blob of a new package."
    ),
    "catalog list bundles": CommandEntry(
        "olmkit.cli.catalog.list:bundles", "List the bundles of a catalog, or of one package."
    ),
    "catalog list channels": CommandEntry(
        "olmkit.cli.catalog.list:channels", "List the channels of a catalog, or of one package."
    ),
    "catalog list packages": CommandEntry(
        "olmkit.cli.catalog.list:packages", "List the packages of a catalog."
    ),
    "catalog manifests": CommandEntry(
        "olmkit.cli.catalog.serving.manifests:manifests",
        "Print the manifests of a server for a catalog that several pods share.",
    ),
    "catalog path": CommandEntry(
        "olmkit.cli.catalog.upgrades.path:path",
        "Show the upgrade path that OLM takes from an installed version.",
    ),
    "catalog resolve": CommandEntry(
        "olmkit.cli.catalog.upgrades.resolve:resolve",
        "Show what OLM would install, with dependencies and reasons.",
    ),
    "catalog validate": CommandEntry(
        "olmkit.cli.catalog.validate:validate", "Validate catalogs: directories or images."
    ),
    "catalog render": CommandEntry(
        "olmkit.cli.catalog.render:render",
        "Write bundles and catalogs as one stream of catalog blobs.",
    ),
    "catalog convert": CommandEntry(
        "olmkit.cli.catalog.templates.convert:convert",
        "Write the template of a catalog, the reverse of `render-template`.",
    ),
    "catalog render-template": CommandEntry(
        "olmkit.cli.catalog.templates.template:render_template",
        "Render a catalog template; its `schema` says which kind it is.",
    ),
    "catalog template basic": CommandEntry(
        "olmkit.cli.catalog.templates.template:basic",
        "Render a basic template: blobs, and images in place of bundles.",
    ),
    "catalog template composite": CommandEntry(
        "olmkit.cli.catalog.templates.template:composite",
        "Render a composite template: components into the directories of several catalogs.",
    ),
    "catalog template semver": CommandEntry(
        "olmkit.cli.catalog.templates.template:semver",
        "Render a semver template: channels and edges from versions.",
    ),
    "catalog template substitutes": CommandEntry(
        "olmkit.cli.catalog.templates.template:substitutes",
        "Render a substitutes template: rebuilt bundles replace others.",
    ),
    "catalog serve": CommandEntry(
        "olmkit.cli.catalog.serving.serve:serve",
        "Serve catalogs to OLM v0 over gRPC, and to OLM v1 over HTTP.",
    ),
    "submit prepare": CommandEntry(
        "olmkit.cli.submission.prepare:prepare",
        "Write the next version of an operator into a checkout of a repository of catalogs.",
    ),
    "submit check": CommandEntry(
        "olmkit.cli.submission.check:check",
        "Check a checkout of a repository of operators before a pull request.",
    ),
    "completion": CommandEntry(
        "olmkit.cli.completion:completion", "Print the completion script for a shell."
    ),
    "create api": CommandEntry(
        "olmkit.cli.project.create_api:create",
        "Add a kind: its types, sample, roles and reconciler.",
    ),
    "create webhook": CommandEntry(
        "olmkit.cli.project.create_webhook:create",
        "Add webhooks to a kind: defaulting, validation, conversion.",
    ),
    "edit": CommandEntry(
        "olmkit.cli.project.edit:edit",
        "Change settings of an existing project: scope, image, overlays, workflows.",
    ),
    "init": CommandEntry(
        "olmkit.cli.project.init:init",
        "Create a project for an operator in Python, or with Helm charts or Ansible.",
    ),
    "doctor": CommandEntry(
        "olmkit.cli.doctor:doctor",
        "Show what this machine has for olmkit, what is missing, and how to get it.",
    ),
    "render": CommandEntry(
        "olmkit.cli.project.render:render",
        "Print the manifests of an overlay, as `kustomize build` does.",
    ),
    "deploy": CommandEntry(
        "olmkit.cli.cluster.deploy:deploy",
        "Deploy the operator without OLM, and wait until it runs.",
    ),
    "undeploy": CommandEntry(
        "olmkit.cli.cluster.undeploy:undeploy", "Delete what `olmkit deploy` applied."
    ),
    "install": CommandEntry(
        "olmkit.cli.cluster.install:install",
        "Install an operator through OLM, and wait until it runs.",
    ),
    "olm install": CommandEntry(
        "olmkit.cli.cluster.olm:install",
        "Install OLM v0 from its manifests, and wait until it runs.",
    ),
    "olm status": CommandEntry(
        "olmkit.cli.cluster.olm:status", "Show whether OLM is installed and running."
    ),
    "olm uninstall": CommandEntry(
        "olmkit.cli.cluster.olm:uninstall",
        "Remove OLM v0, using the manifests that installed it.",
    ),
    "status": CommandEntry(
        "olmkit.cli.cluster.status:status",
        "Show the operators that OLM has installed, and their state.",
    ),
    "uninstall": CommandEntry(
        "olmkit.cli.cluster.uninstall:uninstall",
        "Remove an operator, and everything that olmkit created for it.",
    ),
    "upgrade": CommandEntry(
        "olmkit.cli.cluster.upgrade:upgrade",
        "Upgrade an operator, and wait until the new version runs.",
    ),
    "why": CommandEntry(
        "olmkit.cli.cluster.why:why", "Explain why an operator is not installed or upgraded."
    ),
    "generate": CommandEntry(
        "olmkit.cli.project.generate:generate",
        "Write CRDs, roles, webhooks and the base CSV from types and markers.",
    ),
    "run": CommandEntry(
        "olmkit.cli.project.run:run",
        "Run the operator of the project on this machine, against a cluster.",
    ),
}

# Commands that do not print the JSON value of all others, and the reason; `make docs` prints them.
_BLOBS = "prints a stream of catalog blobs; `-o` is their format"
WITHOUT_ENVELOPE: Mapping[str, str] = {
    "bundle scorecard": "`-o json` and `-o xunit` print the results as operator-sdk does",
    "catalog convert": "prints a catalog template; `-o` is its format",
    "catalog filter": _BLOBS,
    "catalog init": _BLOBS,
    "catalog render": _BLOBS,
    "catalog render-template": _BLOBS,
    "catalog template basic": _BLOBS,
    "catalog template composite": _BLOBS,
    "catalog template semver": _BLOBS,
    "catalog template substitutes": _BLOBS,
    "completion": "prints a script for a shell",
    "run": "prints what the operator prints",
}

# The sections of olmkit's own help; commands without a section are in the last one.
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "Project": ("init", "create", "edit", "generate", "render", "run"),
    "Bundles, catalogs, images": ("bundle", "catalog", "image"),
    "Cluster": ("install", "upgrade", "uninstall", "status", "why", "deploy", "undeploy", "olm"),
}
