"""What an operator can say in a terminal: one module a subject, listed in ``app.cli``."""
