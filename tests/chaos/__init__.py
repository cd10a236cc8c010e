"""Made-up stories between the played Saleor, the app and the sandbox, in one process and without a socket.

``story`` says what can happen, ``stage`` is where it happens, ``play`` lets it happen, ``laws`` says what must be true.
"""
