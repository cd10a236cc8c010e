"""``make screenshots``: takes the pictures of the documentation anew. The browser is ``CHROMIUM``, or /usr/bin/chromium."""
