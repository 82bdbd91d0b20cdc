"""Check a CSV's conversion webhooks, which OLM v0 checks repeatedly during the install.

OLM creates the Deployment, fails at the webhook, marks the installation as failed and starts again,
without end: its status changes all the time. The result follows from the CSV alone.

Source: OLM v0's `createOrUpdateConversionWebhook`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from olmkit.kube import objects
from olmkit.kube.objects import Manifest, mapping, sequence, text
from olmkit.olm import kinds

_ALL = "AllNamespaces"
_CONVERSION = "ConversionWebhook"


@dataclass(frozen=True, slots=True)
class WebhookRefusal:
    """The reason why OLM does not install a CSV with this webhook, and a fix."""

    message: str
    hint: str


def refusals(csv: Manifest) -> Iterator[WebhookRefusal]:
    """Yield the errors of a CSV's webhooks that make OLM reject it."""
    name = objects.name(csv)
    owned = set(kinds.owned_crds(csv))
    for one in map(mapping, sequence(kinds.spec(csv).get("webhookdefinitions"))):
        if one.get("type") != _CONVERSION:
            continue
        webhook = text(one.get("generateName"))
        crds = [text(crd) for crd in sequence(one.get("conversionCRDs"))]
        if others := _modes(csv):
            yield WebhookRefusal(
                f"OLM does not install `{name}`: it has the conversion webhook `{webhook}`, and "
                f"{others}",
                f"correct the bundle: support `{_ALL}` and no other mode",
            )
        if not crds:
            yield WebhookRefusal(
                f"OLM does not install `{name}`: its conversion webhook `{webhook}` names no CRD",
                "correct the bundle: list the CRDs in `conversionCRDs`",
            )
        for crd in crds:
            if crd not in owned:
                yield WebhookRefusal(
                    f"OLM does not install `{name}`: its conversion webhook `{webhook}` names "
                    f"the CRD `{crd}`, which the bundle does not own",
                    "correct the bundle: name only CRDs of `customresourcedefinitions.owned`",
                )


def _modes(csv: Manifest) -> str:
    """Return the error in the install modes of a CSV with conversions; empty if valid."""
    others = [mode for mode in kinds.supported_modes(csv) if mode != _ALL]
    if others:
        return f"supports {', '.join(f'`{mode}`' for mode in others)}"
    listed = map(mapping, sequence(kinds.spec(csv).get("installModes")))
    if any(one.get("type") == _ALL and one.get("supported") is not True for one in listed):
        return f"does not support `{_ALL}`"
    return ""
