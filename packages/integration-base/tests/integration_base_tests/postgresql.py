"""The PostgreSQL server on which tests create databases."""

import os

import psycopg
from sqlalchemy import make_url

POSTGRESQL = os.environ.get("TEST_DATABASE_URL", "postgresql://postgres@127.0.0.1:5432/postgres")


def postgresql_answers() -> bool:
    """Whether there is a server for the tests that run on each kind of database."""
    try:
        connect_to_server().close()
    except psycopg.OperationalError:
        return False
    return True


def connect_to_server() -> "psycopg.Connection[tuple[object, ...]]":
    plain = make_url(POSTGRESQL).set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(plain, autocommit=True, connect_timeout=20)
