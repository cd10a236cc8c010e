"""The tables. Amounts are Decimals with two decimals (``columns.Amount``), moments are aware and in UTC.

Each class documents its rows and what makes them unique. Secrets are stored sealed (``vault``) in columns named
``*_sealed``; nothing else in these tables is secret, and no column ever holds a card number. The words that columns of
payments hold are the core's, and can be had here beside the tables.
"""

from sqlmodel import SQLModel

from app.core.vocabulary import EventState, Flow, Kind, Mode, Origin, PaymentStatus, State
from app.store.columns import accept_any_text
from app.store.tables.days import ChangedDay, DayOutcome, DayTotal, SummedDay
from app.store.tables.payments import Operation, Payment, SplitShare
from app.store.tables.payouts import Payout
from app.store.tables.problems import Problem
from app.store.tables.processes import Process
from app.store.tables.queues import Notification, SaleorEvent
from app.store.tables.reconciliation import (
    Booked,
    ComparedDay,
    Discrepancy,
    DiscrepancyKind,
    DiscrepancyState,
    GatewayShare,
    GatewayTotal,
    ReconciliationRun,
    RunState,
    Source,
)
from app.store.tables.stores import (
    CardKey,
    ChannelRoute,
    DeletedCustomer,
    Installation,
    MerchantAccount,
    PendingToken,
    ProductsForm,
    ReportedProblem,
    SavedCard,
)
from app.store.tables.turned_away import TurnedAway

__all__ = [
    "Booked",
    "CardKey",
    "ChangedDay",
    "ChannelRoute",
    "ComparedDay",
    "DayOutcome",
    "DayTotal",
    "DeletedCustomer",
    "Discrepancy",
    "DiscrepancyKind",
    "DiscrepancyState",
    "EventState",
    "Flow",
    "GatewayShare",
    "GatewayTotal",
    "Installation",
    "Kind",
    "MerchantAccount",
    "Mode",
    "Notification",
    "Operation",
    "Origin",
    "Payment",
    "PaymentStatus",
    "Payout",
    "PendingToken",
    "Problem",
    "Process",
    "ProductsForm",
    "ReconciliationRun",
    "ReportedProblem",
    "RunState",
    "SaleorEvent",
    "SavedCard",
    "Source",
    "SplitShare",
    "State",
    "SummedDay",
    "TurnedAway",
]

accept_any_text(SQLModel.metadata)
