// The payment button says how it went. Whether there is an order, the shop asks Saleor.
for (const covered of ["gateway-payment-paid", "gateway-payment-reserved"]) {
  document.addEventListener(covered, ({ detail: { transactionId } }) => {
    if (transactionId) location.replace(`/back?${new URLSearchParams({ transactionId })}`);
  });
}
