"""What an operator can say in a terminal: one module a subject, put together in ``app.cli``."""
