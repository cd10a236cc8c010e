"""A gateway of one's own: it serves the gateway interface over HTTP, with test cards and no money.

`create_sandbox(settings)` is the application, `server.serve` runs it, `control.SandboxControl` steers it. It stands
apart from the app: it shares with it only how webhooks are signed and how exact numbers are written.
"""
