"""How many steps a payment takes through the code, counted by playing it: ``python -m tests.trace``."""
