"""Payments as people read them: search, status, history, money, files, what needs a person. Changes nothing."""
