"""What staff can do: act on payments, look them up, settle them by hand, pay out to cards."""
