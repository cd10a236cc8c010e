"""Where the process may connect to."""
