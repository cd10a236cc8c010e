"""Saleor's own schemas, one for each version that we support."""

import os
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from graphql import GraphQLSchema, build_schema, parse, validate

from integration_base_tests.places import REPOSITORY
from integration_base_tests.skipping import missing
from saleor_app_sdk.documents import Documents
from saleor_app_sdk.versions import OLDEST_SUPPORTED, Version

SCHEMAS = Path(os.environ.get("SALEOR_SCHEMAS", REPOSITORY.parent / "shared" / "reference" / "saleor"))
VERSIONS: tuple[Version, ...] = ((3, 21), (3, 22), (3, 23))


def schema_file(version: Version) -> Path:
    """Return the file with the schema of a version; skip the test that needs it where it is missing."""
    path = SCHEMAS / f"schema-{version[0]}.{version[1]}.graphql"
    if not path.exists():
        missing(f"Saleor's schema at {path} (SALEOR_SCHEMAS says in which folder to look)")
    return path


@cache
def schema(version: Version) -> GraphQLSchema:
    return build_schema(schema_file(version).read_text(), assume_valid=True)


def documents(*folders: Path) -> Iterator[tuple[Path, str, Version]]:
    """Yield each document of these folders with each version of Saleor that it is sent to."""
    for folder in folders:
        for name in Documents(folder).names:
            oldest = Documents(folder).versions(name)[0]  # what older Saleors do not know at all is never said to them
            for version in VERSIONS:
                if version >= oldest:
                    yield folder, name, version


def id_of(part: Path | str | Version) -> str:
    """Return how a folder, a document or a version is named in the name of a test."""
    return part.name if isinstance(part, Path) else str(part)


def assert_valid(text: str, version: Version) -> None:
    assert validate(schema(version), parse(text)) == []


def document_files(*folders: Path) -> set[Path]:
    """Return the files of which the documents of these folders consist, fragments included."""
    files = set()
    for folder in folders:
        given = Documents(folder)
        texts = []
        for name in given.names:
            for since in given.versions(name):
                assert since in VERSIONS, f"{name} has a file for {since}, which no schema here checks"
                suffix = "" if since == OLDEST_SUPPORTED else f".{since[0]}.{since[1]}"
                files.add(folder / f"{name}{suffix}.graphql")
                texts.append(given.text(name, since))
        for fragment in (folder / "fragments").glob("*.graphql"):
            if any(f"...{fragment.stem}" in text for text in texts):
                files.add(fragment)
    return files
