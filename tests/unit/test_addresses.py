"""The tests of a module are found by its path: `olmkit/x/y.py` → `tests/unit/x/test_y.py`.

Modules that are tested through another one, or by runs of the program, are in the table. Each
of its lines is needed: the test exists, and no pattern is for modules with their own test.
"""

from __future__ import annotations

import fnmatch
from pathlib import Path

import pytest

# Pattern of modules below `olmkit` → their tests below `tests`.
# A module's own test file takes precedence, then the first pattern that matches.
ELSEWHERE = {
    # All rules with inputs that violate them; deliberate errors in `test_mutations.py`.
    "rules/catalog*.py": "unit/rules/test_catalog_rules.py",
    "rules/graphs.py": "unit/rules/test_catalog_rules.py",
    "rules/deprecations.py": "unit/rules/test_catalog_rules.py",
    "rules/releases.py": "unit/rules/test_release_rules.py",
    "rules/fixes.py": "unit/rules/test_fixing.py",
    "rules/baselines.py": "unit/jobs/bundle/test_validate.py",
    "rules/*.py": "unit/rules/test_rules.py",
    # Commands: their output and files are compared as a whole.
    "cli/cluster/*.py": "unit/jobs/cluster_v0/test_install.py",
    "cli/project/explain.py": "unit/cli/test_explain.py",
    "cli/frame/*.py": "unit/cli/test_main.py",
    "cli/doctor.py": "unit/jobs/test_doctor.py",
    "cli/*.py": "golden/test_golden.py",
    # Readers of sources: through the whole that they are part of.
    "apis/crds/kind_checks.py": "unit/apis/crds/test_manifests.py",
    "apis/crds/schema_*.py": "unit/apis/crds/test_schema.py",
    "apis/crds/struct_fields.py": "unit/apis/crds/test_schema.py",
    "apis/crds/well_known.py": "unit/apis/crds/test_schema.py",
    "apis/go/*.py": "unit/apis/go/test_parser.py",
    "apis/markers/*.py": "unit/apis/markers/test_language.py",
    "apis/model.py": "unit/apis/python/test_source.py",
    "apis/python/*.py": "unit/apis/python/test_source.py",
    "apis/webhook_shape.py": "unit/apis/test_webhooks.py",
    "base/cel/*.py": "unit/base/cel/test_evaluation.py",
    "base/document_errors.py": "unit/base/test_documents.py",
    "base/fixes.py": "unit/rules/test_fixing.py",
    "catalog/inlined.py": "unit/catalog/test_cluster_version.py",
    "catalog/changes/include_file.py": "unit/catalog/changes/test_inclusion.py",
    "jobs/catalog/folder.py": "golden/catalog",
    "catalog/selection.py": "unit/jobs/catalog/upgrades/test_resolve.py",
    "catalog/database/*.py": "unit/catalog/database/test_conversion.py",
    "catalog/templates/*.py": "conformance/templates",
    "project/ignores.py": "unit/jobs/bundle/test_validate.py",
    # Comparisons of bundles, submissions, the scorecard.
    "bundle/changes/*.py": "unit/bundle/changes/test_difference.py",
    "bundle/generation/*.py": "unit/bundle/generation/test_generate.py",
    "bundle/package_manifest.py": "unit/rules/test_package_manifests.py",
    "bundle/scorecard/*.py": "unit/jobs/cluster/test_scorecard.py",
    "edges/programs/git.py": "unit/jobs/submission/test_check.py",
    "submission/*.py": "unit/rules/test_submissions.py",
    # Pages: built from whole catalogs, and compared with the model.
    "hub/looks/*.py": "unit/hub/looks/test_pages.py",
    "hub/*.py": "unit/hub/builds/test_all_pages.py",
    "edges/network/hub_server.py": "unit/jobs/hub/test_serve.py",
    "jobs/hub/*.py": "unit/jobs/hub/test_build.py",
    # Kubernetes and images.
    "runtime/serve/debug_server.py": "unit/runtime/test_dump.py",
    "kube/api.py": "unit/edges/cluster/test_client.py",
    "kube/crds/changes/*.py": "unit/kube/crds/changes",
    "kube/crds/conversion_errors.py": "unit/rules/test_rules.py",
    "kube/crds/list_rules.py": "unit/kube/crds/test_structural.py",
    "kube/crds/schema_problems.py": "unit/kube/crds/test_structural.py",
    "kube/crds/validation_rules.py": "unit/kube/crds/test_structural.py",
    "oci/archives.py": "unit/oci/test_layer.py",
    "oci/files.py": "unit/oci/test_hostile_layers.py",
    "oci/limits.py": "unit/oci/test_hostile_layers.py",
    "edges/cluster/*.py": "unit/edges/cluster/test_client.py",
    "edges/images/access_settings.py": "unit/edges/images/registries/test_mirrors.py",
    "edges/images/docker_engine.py": "e2e/images",
    "edges/images/image_folder.py": "unit/jobs/catalog/mirroring/test_mirror.py",
    "edges/images/registries/upload.py": "unit/edges/images/registries/test_client.py",
    # OLM: the resolver with its own answers, causes with the objects of real clusters.
    "olm/explain/explanation.py": "unit/olm/explain/test_installs.py",
    "olm/explain/*.py": "golden/why",
    "olm/kinds.py": "unit/olm/test_cluster_state.py",
    "olm/resolver/v1.py": "conformance/resolution/test_resolver_v1.py",
    "olm/resolver/conflicts.py": "conformance/resolution/test_conflicts.py",
    "olm/resolver/report.py": "conformance/resolution/test_conflicts.py",
    "olm/resolver/*.py": "conformance/resolution/test_resolver.py",
    "olm/v1/*.py": "unit/olm/v1/test_explain.py",
    # Jobs: through the job that uses them.
    "jobs/bundle/bundle_*.py": "unit/jobs/bundle/test_generate.py",
    "jobs/bundle/fix.py": "unit/cli/bundle/test_validate.py",
    "jobs/catalog/upgrades/check.py": "golden/catalog",
    "jobs/image/mirror.py": "unit/jobs/catalog/mirroring/test_mirror.py",
    "jobs/bundle/compare.py": "unit/jobs/bundle/test_unpack.py",
    "jobs/bundle/read.py": "unit/jobs/bundle/test_unpack.py",
    "jobs/catalog/local.py": "unit/jobs/catalog/test_databases.py",
    "jobs/catalog/serving/*.py": "unit/jobs/catalog/serving/test_serve.py",
    "catalog/serve/go_archive.py": "unit/jobs/catalog/serving/test_opm_cache.py",
    "catalog/serve/opm_cache.py": "unit/jobs/catalog/serving/test_opm_cache.py",
    "edges/catalog/metrics.py": "unit/jobs/catalog/test_serve_many.py",
    "edges/network/certificate_files.py": "unit/runtime/serve/test_certificates.py",
    "edges/network/server_library.py": "unit/edges/network/test_http_library.py",
    "edges/network/metrics_page.py": "unit/jobs/catalog/test_serve_many.py",
    "edges/termination_log.py": "unit/cli/catalog/serving/test_serve.py",
    "catalog/graph/first_hops.py": "unit/jobs/catalog/upgrades/test_crd_upgrades.py",
    "jobs/catalog/upgrades/path.py": "conformance/resolution/test_paths.py",
    "jobs/cluster/*.py": "unit/jobs/cluster_v0/test_install.py",
    "jobs/cluster_v0/*.py": "unit/jobs/cluster_v0/test_install.py",
    "jobs/cluster_v1/*.py": "unit/jobs/cluster_v1/test_extension.py",
    "jobs/validation.py": "unit/jobs/bundle/test_validate.py",
    # The runtime, and the API server double that answers as the real one.
    "edges/programs/keeper/*.py": "unit/edges/programs/keeper/test_marks.py",
    "edges/programs/ansible/run*.py": "unit/hybrid/ansible/test_reconciler.py",
    "edges/programs/ansible/*.py": "unit/edges/programs/ansible/test_forks.py",
    "edges/network/json_inbox.py": "unit/hybrid/ansible/test_play_metrics.py",
    "hybrid/ansible/controllers.py": "e2e/hybrid/test_ansible.py",
    "hybrid/ansible/program.py": "unit/hybrid/test_process.py",
    "hybrid/collections/*.py": "unit/hybrid/ansible/test_modules.py",
    "hybrid/dependents.py": "e2e/hybrid/test_ansible.py",
    "hybrid/entries.py": "unit/hybrid/helm/test_watches.py",
    "hybrid/helm/controllers.py": "e2e/hybrid/test_helm.py",
    "hybrid/helm/program.py": "unit/hybrid/test_process.py",
    "jobs/image/watched.py": "unit/project/test_watched_image.py",
    "edges/programs/packed_chart.py": "unit/jobs/project/test_watched.py",
    "jobs/project/charts.py": "unit/jobs/project/test_watched.py",
    "project/scaffold/watched/*.py": "unit/jobs/project/test_watched.py",
    "hybrid/masks.py": "unit/hybrid/helm/test_releases.py",
    "hybrid/primaries.py": "unit/hybrid/ansible/test_injection.py",
    "runtime/work/blocking_direct.py": "unit/runtime/work/test_blocking.py",
    "runtime/direct/pods.py": "conformance/apiserver/test_pods.py",
    "runtime/direct/*.py": "conformance/apiserver/test_client.py",
    "runtime/manifests/*.py": "unit/runtime/test_client.py",
    "runtime/kinds.py": "unit/runtime/serve/test_webhook_admission.py",
    "runtime/work/*.py": "unit/runtime/work/test_controller.py",
    "testing/apiserver/*.py": "conformance/apiserver",
    "testing/clock.py": "unit/runtime/test_lag.py",
    "testing/fixture_types.py": "unit/testing/test_how_to.py",
    "testing/installing.py": "unit/testing/test_pytest_plugin.py",
    "testing/loopback.py": "unit/testing/test_faults.py",
    "testing/waiting.py": "unit/testing/test_tasks.py",
}


def _modules(root: Path) -> list[str]:
    return sorted(
        path.relative_to(root / "olmkit").as_posix()
        for path in (root / "olmkit").rglob("*.py")
        if not path.name.startswith("__") and "_pb2" not in path.name
    )


def _own(module: str) -> str:
    folder, _, name = module.rpartition("/")
    return f"tests/unit/{folder}/test_{name}"


def _matching_pattern(module: str) -> str | None:
    return next((pattern for pattern in ELSEWHERE if fnmatch.fnmatch(module, pattern)), None)


def test_every_module_has_its_test_by_path_or_a_line_in_the_table(root: Path) -> None:
    lost = [
        module
        for module in _modules(root)
        if not (root / _own(module)).exists() and _matching_pattern(module) is None
    ]
    assert lost == [], "write `tests/unit/x/test_y.py`, or name its test in the table"


def test_every_line_of_the_table_is_needed(root: Path) -> None:
    without = [module for module in _modules(root) if not (root / _own(module)).exists()]
    assert set(ELSEWHERE) - {_matching_pattern(module) for module in without} == set()


@pytest.mark.parametrize("place", sorted(set(ELSEWHERE.values())))
def test_every_path_in_the_table_exists(place: str, root: Path) -> None:
    assert (root / "tests" / place).exists()


def test_most_modules_have_their_own_test(root: Path) -> None:
    modules = _modules(root)
    assert sum((root / _own(module)).exists() for module in modules) * 2 > len(modules)
