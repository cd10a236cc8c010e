"""Which processes of the app there are: each says from time to time that it is there."""

from datetime import datetime
from typing import Any, ClassVar

from sqlmodel import Field, SQLModel

from app.db.columns import Moment


class Process(SQLModel, table=True):
    """A process that serves, or works, or both. ``id`` is made up at its start; ``host`` is what its machine is called.

    It takes its row away when it ends as it should; one that was killed leaves it behind, and is not seen any more.
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
