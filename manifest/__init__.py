"""What Saleor is told about the app: texts, webhook subscriptions, GraphQL operations, logo. Files, shipped as such."""
