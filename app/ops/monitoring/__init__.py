"""Monitoring for operators: health and metrics. None of it changes the app's behaviour."""
