"""Alembic's entry: runs the migrations on the connection that ``app.store.migrate`` hands over."""

from alembic import context
from sqlalchemy import text
from sqlmodel import SQLModel

from app.store import tables

connection = context.config.attributes["connection"]
context.configure(
    connection=connection,
    target_metadata=SQLModel.metadata,
    render_as_batch=connection.dialect.name == "sqlite",
    compare_type=True,
    on_version_apply=context.config.attributes["on_version_apply"],
    user_module_prefix=f"{tables.__package__}.columns.",
)
if connection.dialect.name == "postgresql":
    # Two processes that start together must not both create the tables: the second waits here, then finds them.
    connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('saleor-gateway migrations'))"))
    milliseconds = str(int(context.config.attributes["lock_seconds"] * 1000))
    connection.execute(text("SELECT set_config('lock_timeout', :milliseconds, true)"), {"milliseconds": milliseconds})
context.run_migrations()
