"""What ends the program before it has begun. The command line must know it without importing the settings."""


class SettingsError(Exception):
    """A setting is wrong; the message names it and says what to do, in one line."""
