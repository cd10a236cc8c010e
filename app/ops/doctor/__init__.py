"""Health checks of everything that the app depends on, in one list.

Each check is a small function that returns findings. None moves money, changes any state, here or elsewhere, or reveals
a secret.
"""
