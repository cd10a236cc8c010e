"""Running the app: checks, metrics, health, logs."""
