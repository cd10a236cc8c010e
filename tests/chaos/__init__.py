"""Generated stories between the played Saleor, the app and the sandbox, in one process and without a socket.

``story`` defines the steps, ``chance`` generates stories of them, ``harness`` holds the systems, ``play`` plays the
stories, and ``laws`` checks what must be true.
"""
