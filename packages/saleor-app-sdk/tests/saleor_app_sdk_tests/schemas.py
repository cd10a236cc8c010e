"""Saleor's own schemas, one for each version that we support."""

import os
from functools import cache
from pathlib import Path

from graphql import GraphQLSchema, build_schema

from integration_base_tests.places import REPOSITORY
from integration_base_tests.skipping import missing
from saleor_app_sdk.versions import Version

SCHEMAS = Path(os.environ.get("SALEOR_SCHEMAS", REPOSITORY.parent / "shared" / "reference" / "saleor"))
VERSIONS: tuple[Version, ...] = ((3, 21), (3, 22), (3, 23))


@cache
def schema(version: Version) -> GraphQLSchema:
    path = SCHEMAS / f"schema-{version[0]}.{version[1]}.graphql"
    if not path.exists():
        missing(f"Saleor's schema at {path} (SALEOR_SCHEMAS says in which folder to look)")
    return build_schema(path.read_text(), assume_valid=True)
