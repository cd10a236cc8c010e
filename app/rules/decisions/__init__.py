"""What follows for a payment from each fact, decided on plain objects under the payment's lock. Pure.

A fact is data (``core.fact``): what has happened, or is requested, and when. These are all; whoever finds one out
records it (``store.repository``; a notification, ``store.inbox``). Nothing else changes where a payment stands. Erasing
personal data and moving a store are the database's own.

Saleor
    ``ActionRequested``, ``ActionRepeated`` (``action``): a charge, refund or cancelation, by its staff or in the app
    ``AttemptBegun`` (``competing_attempts``), ``SessionAsked`` (``session``): a payment begins; where does it stand?
    ``EventDue``, ``EventReported``, ``ResendRequested`` (``delivery``): the reports that it receives
    ``HistoryRead``, ``HistoryNotRead``, ``RefundRerequested`` (``answer_confirmation``): has it read an answer?
    ``FoundInHistory`` (``delivery``): it has an event under another reference
    ``OrderAsked``, ``OrderNotAsked``, ``OrderNotStated``, ``PayableSeen`` (``placed_order``): the order that is paid
    ``CustomerWasDeleted`` (``subscription_end``): who pays for a subscription is gone
    ``AppRemoved`` (``placed_order``): nobody can tell it of what is paid

The gateway
    ``NotificationReceived`` (``notification``): what it notifies of
    ``CallReturned`` (``gateway_call``): the outcome of a call, or its error
    ``OrderLookedUp``, ``OrderShown``, ``GatewayAnswered`` (``look_up``): what it shows when it is asked
    ``DifferenceFound``, ``DifferenceEnded`` (``difference``): what its books say

Time
    ``TurnCame`` (``look_up``): an operation has waited for the one before it
    ``AttemptsDue`` (``competing_attempts``): the other attempts to pay the same are reviewed

People
    ``ShopperReturned``, ``ExpectationChanged`` (``look_up``): is there something to look up?
    ``OperationSettled``, ``ProblemsReviewed`` (``manual_resolution``): staff have decided
    ``RefundSplitChosen`` (``refund_split``), ``SubscriptionCancelled`` (``subscription_end``): by staff, too
    ``ChannelWentLive`` (``placed_order``): a channel takes real money now
"""
