"""Errors that end the program before it starts, in a module of their own: the command line must know them without
importing the settings.
"""


class SettingsError(Exception):
    """A setting is wrong; the message names it and says what to do, in one line."""
