"""What the app and the SDK promise together: their documents, their stores of installations."""
