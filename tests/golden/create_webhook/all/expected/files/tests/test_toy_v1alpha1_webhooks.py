"""Tests of the webhooks of `Toy`, with the sample."""

from __future__ import annotations

import asyncio
import pathlib

from olmkit.runtime import AdmissionRequest
from olmkit.testing import load_manifest

from toy_operator.api.v1alpha1.toy import Toy
from toy_operator.webhooks.toy_v1alpha1 import ToyDefaulter, ToyValidator

SAMPLE = "config/samples/toys_v1alpha1_toy.yaml"
REQUEST = AdmissionRequest(
    uid="test",
    operation="CREATE",
    gvk=Toy.gvk,
    name="one",
)


def sample() -> Toy:
    file = pathlib.Path(__file__).parent.parent / SAMPLE
    manifest = load_manifest(file)
    return Toy.from_manifest(manifest)


def test_what_is_filled_in_stays_when_it_is_asked_again() -> None:
    once, twice = sample(), sample()
    asyncio.run(ToyDefaulter().default(once, REQUEST))
    for _ in range(2):
        asyncio.run(ToyDefaulter().default(twice, REQUEST))
    assert twice == once


def test_a_good_object_is_let_through() -> None:
    good, validator = sample(), ToyValidator()
    asyncio.run(validator.validate_create(good, REQUEST))
    asyncio.run(validator.validate_update(good, good, REQUEST))
    asyncio.run(validator.validate_delete(good, REQUEST))
