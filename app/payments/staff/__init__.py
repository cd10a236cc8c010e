"""Payments as staff see them: search, status, history and pending steps."""
