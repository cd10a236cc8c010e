"""Pydantic's validation errors as messages of the app, in the language of the page."""

from dataclasses import dataclass

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from app.i18n.messages import LazyMessage, Verbatim
from integration_base.validation import error_template


@dataclass(frozen=True, slots=True)
class FieldError:
    """One validation error: the path of the field (empty for the whole input) and the message."""

    path: tuple[str, ...]
    message: LazyMessage | Verbatim

    @property
    def field(self) -> str:
        """The path with dots, for people."""
        return ".".join(self.path)

    def __str__(self) -> str:
        return f"{self.field}: {self.message}" if self.path else self.message


def find_field_errors(error: ValidationError) -> list[FieldError]:
    """Return all errors, in the order of the fields."""
    return [_field_error(detail) for detail in error.errors(include_url=False, include_input=False)]


def _field_error(found: ErrorDetails) -> FieldError:
    path = tuple(str(step) for step in found["loc"] if step != "[key]")
    template, values = error_template(found)
    if found["type"] == "value_error":
        raised = found["ctx"]["error"].args[0]
        return FieldError(path, raised if isinstance(raised, LazyMessage) else Verbatim(values["error"]))
    return FieldError(path, LazyMessage(template, **values))
