"""Checks of everything that the app depends on: one list of them.

Each is a small function that returns findings. None moves money, changes anything here or elsewhere, or says a secret.
"""
