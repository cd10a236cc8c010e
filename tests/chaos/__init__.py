"""Made-up stories between the played Saleor, the app and the sandbox, in one process and without a socket.

``story`` says what can happen, ``chance`` makes stories of it, ``harness`` is where they happen, ``play`` tells them,
and ``laws`` says what must be true.
"""
