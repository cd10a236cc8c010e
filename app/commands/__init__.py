"""The operator's commands: one module for each subject, listed in ``app.cli``."""
