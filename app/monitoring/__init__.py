"""What operators watch: health and metrics. Nothing of it changes what the app does."""
