import pytest

from olmkit.catalog.blobs import shapes, wire


@pytest.mark.parametrize(
    ("schema", "fields"),
    [
        (wire.PACKAGE, "schema name defaultChannel icon description properties"),
        (wire.CHANNEL, "schema name package entries properties"),
        (wire.BUNDLE, "schema name package image properties relatedImages"),
        (wire.DEPRECATIONS, "schema package entries"),
    ],
)
def test_the_fields_of_a_schema_are_in_the_order_of_writing(schema: str, fields: str) -> None:
    assert [each.name for each in wire.SHAPES[schema].fields] == fields.split()


@pytest.mark.parametrize(
    ("schema", "written"),
    [
        (wire.PACKAGE, {"schema": "", "name": "", "defaultChannel": ""}),
        (wire.CHANNEL, {"schema": "", "name": "", "package": "", "entries": None}),
        (wire.BUNDLE, {"schema": "", "image": ""}),
        (wire.DEPRECATIONS, {"schema": "", "package": "", "entries": None}),
    ],
)
def test_empty_values_are_written_or_omitted(schema: str, written: dict[str, object]) -> None:
    shape = wire.SHAPES[schema]

    assert shapes.dump(shape, shapes.read(shape, {})) == written


def test_every_schema_has_a_name_for_messages() -> None:
    assert set(wire.PARSED_AS) == set(wire.SHAPES)
