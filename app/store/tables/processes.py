"""The running processes of the app: each records a heartbeat from time to time."""

from datetime import datetime
from typing import Any, ClassVar

from sqlmodel import Field, SQLModel

from app.store.columns import Moment


class Process(SQLModel, table=True):
    """A process that serves, or works, or both. ``id`` is generated at its start; ``host`` is its machine's name.

    When it ends properly, a worker deletes its row, and a process that served leaves one that neither serves nor works.
    A killed process leaves its row as it was, without further heartbeats.
    """

    __tablename__: ClassVar[Any] = "process"

    id: str = Field(primary_key=True, max_length=32)
    host: str = Field(max_length=255)
    pid: int
    version: str = Field(max_length=50)
    serves: bool
    works: bool
    started_at: datetime = Field(sa_type=Moment)
    seen_at: datetime = Field(sa_type=Moment)
