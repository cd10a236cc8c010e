"""A stand-in for the payment gateway: it serves the gateway interface over HTTP, with test cards and no money.

`create_sandbox(settings)` creates the application, `server.serve` runs it, `control.SandboxControl` controls it. It is
separate from the app: they share only how webhooks are signed and how exact numbers are serialized.
"""
