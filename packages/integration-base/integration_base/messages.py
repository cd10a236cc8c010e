"""Marks English text of the packages that an application may translate where it shows it."""


def gettext_noop(message: str) -> str:
    """Return ``message`` unchanged: an application's catalogue can collect it (``pybabel extract``, ``xgettext``)."""
    return message
