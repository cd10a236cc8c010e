"""What identifies a payment and its parts: rows here, orders and operations at the gateway, references in Saleor."""

from typing import NewType

PaymentRowId = NewType("PaymentRowId", int)
OperationRowId = NewType("OperationRowId", int)
EventRowId = NewType("EventRowId", int)
OrderId = NewType("OrderId", str)
GatewayOperationId = NewType("GatewayOperationId", str)
PspReference = NewType("PspReference", str)
