"""Missing ConfigMaps, Secrets and keys that a pod names."""

from __future__ import annotations

from typing import Any

import pytest

from olmkit.olm.explain.workloads import missing
from olmkit.olm.explain.workloads.templates import TemplatePlace

HERE = TemplatePlace("the bundle's Deployment")


def pod(*volumes: Any, **container: Any) -> Any:
    spec = {"volumes": list(volumes), "containers": [{"name": "manager", **container}]}
    return {"kind": "Pod", "metadata": {"name": "p", "namespace": "apps"}, "spec": spec}


ENV = {"env": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "login", "key": "t"}}}]}
ALL = {"envFrom": [{"configMapRef": {"name": "settings"}}]}


@pytest.mark.parametrize(
    ("words", "container", "said", "hint"),
    [
        ('secret "login" not found', ENV,
         ("Secret `login` does not exist in namespace `apps`, and variable `TOKEN` of container "
         "`manager` uses it"),
         "`kubectl create secret generic login -n apps --from-literal=t=VALUE`"),
        ('configmap "settings" not found', ALL, "and `envFrom` of container `manager` uses it",
         "`kubectl create configmap settings -n apps --from-literal=KEY=VALUE`"),
        ("couldn't find key t in Secret apps/login", ENV,
         "has no key `t`, which variable `TOKEN` of container `manager` uses",
         """`kubectl patch secret login -n apps --type merge -p '{"stringData":{"t":"VALUE"}}'`"""),
        ("couldn't find key t in ConfigMap apps/settings", {}, "has no key `t`",
         """-p '{"data":{"t":"VALUE"}}'`"""),
    ],
)  # fmt: skip
def test_missing_objects_of_the_environment_are_named(
    words: str, container: Any, said: str, hint: str
) -> None:
    of = pod(**container)
    found = missing.find_in_environment(words, of, "manager")
    assert found is not None
    assert said in found.message("apps")
    assert hint in found.hint("apps", HERE, missing.expected_key(of, found))


def test_missing_objects_of_a_volume_are_named() -> None:
    volume = {"name": "cfg", "secret": {"secretName": "login", "items": [{"key": "k"}]}}
    words = 'MountVolume.SetUp failed for volume "cfg" : '
    found = missing.find_in_volume(words + 'secret "login" not found', pod(volume))
    assert found is not None
    assert "volume `cfg` uses it" in found.message("apps")
    assert missing.expected_key(pod(volume), found) == "k"
    found = missing.find_in_volume(words + "references non-existent secret key: k", pod(volume))
    assert found is not None
    assert (found.name, found.key) == ("login", "k")
    assert missing.find_in_volume(words + "no such device", pod(volume)) is None


def test_the_clusters_own_config_map_is_not_created_manually() -> None:
    words = 'MountVolume.SetUp failed for volume "kube" : configmap "kube-root-ca.crt" not found'
    found = missing.find_in_volume(words, pod())
    assert found is not None
    assert "kubectl create" not in found.hint("apps", HERE, "")
