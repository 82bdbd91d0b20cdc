"""Explain why an image cannot be pulled, from the error of the registry or the network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm.cluster_state import ClusterState
from olmkit.olm.explain import certificates, explanation
from olmkit.olm.explain.certificates import CertificateFault
from olmkit.olm.explain.explanation import Diagnosis, FaultOrigin, Readiness
from olmkit.olm.explain.workloads.templates import TemplatePlace

REASONS = ("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
           "RegistryUnavailable", "ImageInspectError")  # fmt: skip
_FAILED = "Failed to pull image"
CATALOG_SECRETS = (
    "`secrets` of the CatalogSource (`olmkit install --bundle IMAGE --pull-secret SECRET` does it)"
)
POD_SECRETS = "`imagePullSecrets` of the pod or its service account"
_LOGIN = ("authorization", "denied", "401", "403", "unauthorized", "Unauthorized", "no basic auth")
_NOT_FOUND = ("not found", "manifest unknown", "name unknown", "404")
_PLAIN = ("server gave HTTP response to HTTPS client", "does not look like a TLS handshake")
_SECRETS = re.compile(r"Unable to retrieve some image pull secrets \((?P<names>[^)]*)\)")
_INVALID = re.compile(r'Failed to apply default image tag "[^"]*": (?P<why>.*)')
_PARSED = re.compile(r"couldn't parse image (?:reference|name) \"[^\"]*\": ")


def explain_image(
    snapshot: ClusterState,
    pod: Manifest,
    status: Mapping[str, Any],
    template: TemplatePlace,
) -> Diagnosis:
    """Explain why the image of a waiting container cannot be pulled."""
    waiting = mapping(mapping(status.get("state")).get("waiting"))
    reason, name = text(waiting.get("reason")), text(status.get("name"))
    image = text(status.get("image"))
    link = explanation.link(pod, f"container `{name}`: {reason}")
    if reason == "InvalidImageName":
        found = _INVALID.search(text(waiting.get("message")))
        words = explanation.first_line(found["why"] if found else text(waiting.get("message")))
        return Diagnosis(
            cause="image-cannot-be-pulled",
            message=f"`{image}` is not the name of an image: "
            f"{_PARSED.sub('', words) or 'it cannot be parsed'}",
            hint=template.change(f"correct the image of container `{name}`"),
            links=(link,),
            readiness=Readiness.BLOCKED,
        )
    if reason == "ErrImageNeverPull":
        return Diagnosis(
            cause="image-cannot-be-pulled",
            message=f"the image `{image}` is not on the node, and `imagePullPolicy: Never` "
            f"of container `{name}` forbids pulling it",
            hint=template.change(
                f"load the image on the nodes, or set `imagePullPolicy` of container `{name}` "
                "to `IfNotPresent`"
            ),
            links=(link,),
            origin=FaultOrigin.WORLD,
        )
    words = _find_message(snapshot, pod, image, waiting).removeprefix(f"{image}: ")
    secrets = missing_secrets(snapshot, pod)
    lacking = _list_names(secrets)
    also = (
        f"; {lacking} of `imagePullSecrets` {'does' if len(secrets) == 1 else 'do'} not exist"
        f" in namespace `{objects.namespace(pod)}`"
        if secrets
        else ""
    )
    return Diagnosis(
        cause="image-cannot-be-pulled",
        message=f"the image `{image}` cannot be pulled: {words}{also}",
        hint=hint(words, image, objects.namespace(pod), secrets),
        links=(link,),
        origin=FaultOrigin.WORLD,
    )


def missing_secrets(snapshot: ClusterState, pod: Manifest) -> tuple[str, ...]:
    """Return the missing pull secrets of a pod, as the kubelet reports them."""
    named = [
        text(mapping(one).get("name"))
        for one in sequence(objects.pod_spec(pod).get("imagePullSecrets"))
    ]
    for event in reversed(list(snapshot.events_of(pod))):
        found = _SECRETS.search(text(event.get("message")))
        if found is not None:
            reported = [name.strip() for name in found["names"].split(",")]
            return tuple(name for name in reported if name in named) or tuple(reported)
    return ()


def hint(message: str, image: str, namespace: str, secrets: tuple[str, ...] = ()) -> str:
    """Return a hint about a registry's error, or about a failed connection."""
    host = _host(image)
    if "no match for platform" in message or "no matching manifest" in message:
        return "publish the image for the architecture of the nodes, or choose nodes that fit it"
    if "toomanyrequests" in message or "429" in message:
        return "wait until the registry's limit is over, or log in: " + _create_secret_command(
            secrets, host, namespace
        )
    if secrets or any(part in message for part in _LOGIN):
        return "give the registry's login to the pod: " + _create_secret_command(
            secrets, host, namespace
        )
    if any(part in message for part in ("no such host", "server misbehaving", "Temporary failure")):
        return f"correct the host `{host}` in the image's name, or let the nodes' DNS resolve it"
    fault = certificates.find_fault(message)
    if fault is not None:
        return _CERTIFICATE[fault].format(host=host)
    if any(part in message for part in _PLAIN):
        return (
            f"serve `{host}` with TLS, or configure the container runtime of the nodes to use "
            "plain HTTP for it"
        )
    if any(part in message for part in _NOT_FOUND):
        return "push the image, or correct its name"
    if "connection refused" in message or "no route" in message or "timeout" in message:
        return f"check that `{host}` runs, and that the nodes reach it"
    return f"check that the nodes reach `{host}`, and trust it"


_CERTIFICATE = {
    CertificateFault.EXPIRED: "renew the certificate of `{host}`, which has expired",
    CertificateFault.NOT_YET_VALID: "correct the clock of the nodes or of `{host}`, whose "
    "certificate is not valid yet",
    CertificateFault.OTHER_NAME: "let `{host}` have a certificate for that name, or name it in the "
    "image by a name of its certificate",
    CertificateFault.UNTRUSTED: "let the container runtime of the nodes trust the certificate of "
    "`{host}`",
}


def use_catalog_secrets(found: Diagnosis) -> Diagnosis:
    """Return the missing pull secrets of an image that OLM pulls for a CatalogSource."""
    return replace(found, hint=found.hint.replace(POD_SECRETS, CATALOG_SECRETS))


def explain_deleted_pods(
    snapshot: ClusterState, namespace: str, prefix: str, image: str
) -> tuple[str, str] | None:
    """Explain why deleted pods could not pull their image: message and hint.

    The names of those pods begin with `prefix`. None if no event reports it.
    """
    for event in reversed(snapshot.events):
        about, words = mapping(event.get("involvedObject")), text(event.get("message"))
        is_pod = (about.get("kind"), about.get("namespace")) == ("Pod", namespace)
        if is_pod and text(about.get("name")).startswith(prefix) and words.startswith(_FAILED):
            reason = _last_reason(words)
            return reason, hint(reason, image, namespace)
    return None


def _last_reason(message: str) -> str:
    return explanation.first_line(message.rpartition('": ')[2] or message or "no reason was given")


def _create_secret_command(secrets: tuple[str, ...], host: str, namespace: str) -> str:
    name = secrets[0] if secrets else "registry-login"
    command = (
        f"`kubectl create secret docker-registry {name} -n {namespace} --docker-server={host} "
        "--docker-username=USER --docker-password=PASSWORD`"
    )
    if secrets:
        return command
    return f"{command}, and name it in {POD_SECRETS}"


def _find_message(
    snapshot: ClusterState, pod: Manifest, image: str, waiting: Mapping[str, Any]
) -> str:
    """Return the registry's message: events have it in full, the state only the first time."""
    reason = [
        text(event.get("message"))
        for event in snapshot.events_of(pod)
        if text(event.get("message")).startswith(_FAILED)
    ]
    fitting = [one for one in reason if f'image "{image}"' in one] or reason
    words = fitting[-1] if fitting else text(waiting.get("message"))
    return _last_reason(words)


def _host(image: str) -> str:
    first, slash, _ = image.partition("/")
    is_host = slash and ("." in first or ":" in first or first == "localhost")
    return first if is_host else "docker.io"


def _list_names(names: tuple[str, ...]) -> str:
    listed = ", ".join(f"`{name}`" for name in names)
    return f"Secret{'' if len(names) == 1 else 's'} {listed}"
