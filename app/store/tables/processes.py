"""The running processes of the app: each records a heartbeat from time to time."""

from datetime import datetime
from typing import Any, ClassVar

from sqlmodel import Field, SQLModel

from app.store.columns import Moment


class Process(SQLModel, table=True):
    """A process that serves, or works, or both. ``id`` is generated at its start; ``host`` is its machine's name.

    It deletes its row when it ends properly; a killed process leaves its row behind, without further heartbeats.
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
