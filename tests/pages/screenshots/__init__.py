"""``make screenshots``: takes the documentation's pictures anew, in ``CHROMIUM`` (or /usr/bin/chromium)."""
