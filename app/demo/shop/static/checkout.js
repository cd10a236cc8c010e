// Whoever is signed in sees their saved cards. A shop of your own has this token from where its customers sign in.
const button = document.querySelector("gateway-payment");
button.customerToken = button.dataset.token;
delete button.dataset.token;

// The payment button says how it went. Whether there is an order, the shop asks Saleor.
for (const covered of ["gateway-payment-paid", "gateway-payment-reserved"]) {
  document.addEventListener(covered, ({ detail: { transactionId } }) => {
    if (transactionId) location.replace(`/back?${new URLSearchParams({ transactionId })}`);
  });
}
