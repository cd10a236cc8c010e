"""The gateway interface over HTTP: one module for each area of its endpoints."""
