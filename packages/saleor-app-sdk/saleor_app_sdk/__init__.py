"""A Saleor app SDK for FastAPI: manifest, app registration, signed webhooks, typed responses, GraphQL client.

It knows Saleor, but nothing of this app's payments, of the gateway or of the database: it stores its data in an
``InstallationStore`` (``saleor_app_sdk.installation``), which the app implements.

Start with ``saleor_app_sdk.app.SaleorApp``. A webhook is defined once, with its ``webhook`` decorator; the route, the
signature check, the parsed event, the recipient check and the manifest entry come from that one definition.
"""
