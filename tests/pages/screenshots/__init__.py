"""``make screenshots``: takes the documentation's pictures anew, in Chromium."""
