-- Filled in by many_payments.py: many payments of one store, a minute between each.

INSERT INTO payment (installation_id, account_id, transaction_id, order_id, flow, mode, status, amount, currency, channel,
    source_id, order_number, email_digest, language, checkout_url, has_problems, problem_since,
    created_at, updated_at)
SELECT %(store)s, CASE WHEN n %% 1000 = 0 THEN %(rare)s WHEN n %% 5 = 0 THEN %(second)s ELSE %(first)s END,
    encode(convert_to('TransactionItem:' || md5('order' || n)::uuid, 'UTF8'), 'base64'), md5('order' || n),
    CASE WHEN n %% 10 = 3 THEN 'AUTHORIZATION' ELSE 'CHARGE' END, 'hosted',
    CASE WHEN n %% 12 = 0 THEN 'failed' WHEN n %% 5000 = 9 AND n < %(rows)s / 10 THEN 'pending'
         WHEN n %% 4 = 1 AND n > %(rows)s - 1000 THEN 'pending' WHEN n %% 20 = 5 THEN 'refunded'
         WHEN n %% 10 = 3 THEN 'authorized' ELSE 'paid' END,
    CASE WHEN n %% 10 = 0 THEN 10000 ELSE 1000 + (n::bigint * 7919) %% 500000 END, 'UAH',
    CASE WHEN n %% 1000 = 1 AND n < %(rows)s / 10 THEN 'pop-up' WHEN n %% 3 = 0 THEN 'wholesale' ELSE 'uah' END,
    'Q2hlY2tvdXQ6' || n, CASE WHEN n %% 5 <> 4 THEN (100000 + n)::text END,
    CASE WHEN n %% 50000 = 7 THEN %(digest)s ELSE md5('shopper' || n %% 200000) END, 'uk',
    'https://gateway.example/pay/' || md5('order' || n),
    n %% 2000 = 5,
    CASE WHEN n %% 2000 = 5 THEN %(until)s::timestamptz - make_interval(secs => (%(rows)s - n) * 60.0 - 30) END,
    %(until)s::timestamptz - make_interval(secs => (%(rows)s - n) * 60.0),
    %(until)s::timestamptz - make_interval(secs => (%(rows)s - n) * 60.0 - 30)
FROM generate_series(1, %(rows)s) AS n;

INSERT INTO operation (payment_id, kind, idempotency_key, state, amount, currency, request, asked_by_saleor,
    psp_reference, operation_id, status_code, message, waits_for_shopper, details, inferred, polls, account_id, booked_at,
    ended_at, fee, fee_currency, created_at, updated_at)
SELECT p.id, 'create', 'create', p.state, p.amount, 'UAH',
    jsonb_build_object('mode', 'hosted', 'method', 'purchase', 'amount', '100.00', 'currency', 'UAH',
        'order_id', p.order_id, 'order_3ds_bypass', 'supported', 'customer_fname', 'Olena', 'customer_lname', 'Kovalenko',
        'customer_email', 'shopper@example.com', 'customer_phone', '+380501234567', 'server_url',
        'https://payments.example.com/api/webhooks/gateway/0123456789abcdef0123456789abcdef', 'result_url',
        'https://payments.example.com/pay/return/' || p.order_id, 'payload', repeat('x', 300))::json,
    true, p.order_id, md5('payment' || p.id)::uuid::text,
    CASE WHEN p.state <> 'failure' THEN '1000' WHEN p.id %% 5 = 0 THEN '6007' WHEN p.id %% 7 = 0 THEN '4147' ELSE '4009' END,
    'Successful [1000]', false,
    '{"card_mask": "424242******4242", "bank": "Bank", "fee": {"amount": "1.50", "currency": "UAH"}}', false, 0,
    CASE WHEN p.state IN ('success', 'failure') THEN p.account_id END,
    CASE WHEN p.state = 'success' AND p.flow = 'CHARGE' THEN p.updated_at END,
    CASE WHEN p.state IN ('success', 'failure') THEN p.updated_at END,
    CASE WHEN p.state = 'success' AND p.flow = 'CHARGE' THEN 1500000 END,
    CASE WHEN p.state = 'success' AND p.flow = 'CHARGE' THEN 'UAH' END, p.created_at, p.updated_at
FROM (
    SELECT payment.*,
        CASE WHEN id %% 12 = 0 THEN 'failure' WHEN id %% 5000 = 9 AND id < %(rows)s / 10 THEN 'unknown'
             WHEN id %% 4 = 1 AND id > %(rows)s - 1000 THEN 'init' ELSE 'success' END AS state
    FROM payment WHERE installation_id = %(store)s
) p;

INSERT INTO operation (payment_id, kind, idempotency_key, state, amount, currency, request, asked_by_saleor,
    psp_reference, operation_id, waits_for_shopper, details, inferred, polls, account_id, booked_at, created_at, updated_at)
SELECT p.id, 'refund', 'refund-1', 'success', p.amount / 2, 'UAH', '{}', true, md5('refund' || p.id)::uuid::text,
    md5('refund' || p.id)::uuid::text, false, '{}', false, 0, p.account_id, p.updated_at, p.updated_at, p.updated_at
FROM payment p WHERE p.installation_id = %(store)s AND p.id %% 20 = 5;

INSERT INTO saleor_event (payment_id, installation_id, type, psp_reference, amount, message, state, attempts, created_at, delivered_at)
SELECT p.id, p.installation_id, 'CHARGE_SUCCESS', p.order_id, p.amount, 'Successful [1000]', 'delivered', 1, p.updated_at, p.updated_at
FROM payment p WHERE p.installation_id = %(store)s;

INSERT INTO notification (account_id, digest, data_sealed, order_id, deliveries, outcome, attempts, received_at, processed_at)
SELECT p.account_id, md5(p.order_id) || md5('of ' || p.order_id), repeat(md5(p.order_id), 30), p.order_id, 1,
    'create success', 1, p.updated_at, p.updated_at
FROM payment p WHERE p.installation_id = %(store)s;

INSERT INTO problem (payment_id, installation_id, account_id, operation_id, kind, key, message, raised_at)
SELECT p.id, p.installation_id, p.account_id, o.id, 'mismatch', md5(p.order_id),
    '{"message": "The gateway reports 90.00 UAH, but 100.00 UAH was asked.", "values": {}}', p.problem_since
FROM payment p JOIN operation o ON o.payment_id = p.id AND o.kind = 'create'
WHERE p.installation_id = %(store)s AND p.has_problems;

-- What new accounts keep of days before them is not so here.
DELETE FROM summed_day;
