"""Changes the program in one small place at a time and sees whether a test notices: ``python -m tests.mutations``."""
