"""Which columns hold something sealed, and to which place each value in them is bound (``vault``).

Whoever keeps a table says so beside the place, and ``sealed_values`` knows all of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class SealedColumn:
    """A column of sealed values. ``place`` makes of the columns ``of``, in a row, where its value is bound to.

    ``payment``: the column that names the payment which the row belongs to, if it does: who writes has that locked.
    Then ``of`` may be the payment's.
    """

    column: Any
    of: tuple[Any, ...]
    place: Callable[..., str]
    payment: Any = None

    @property
    def row_id(self) -> Any:
        """The primary key of the table."""
        (key,) = self.column.class_.__table__.primary_key.columns
        return key

    def __str__(self) -> str:
        return f"{self.column.class_.__tablename__}.{self.column.key}"
