"""The user who runs a command, as timelines name them."""

import getpass
import os


def user_name() -> str:
    """Return the user's name; of one without a name, as clusters run containers, the number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # before and since Python 3.13
        return f"user {os.getuid()}"
