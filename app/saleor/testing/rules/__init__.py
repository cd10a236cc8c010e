"""Rules: what Saleor makes of answers and reports. No I/O, no clock but the one that is handed in.

``amounts`` counts, ``coverage`` says what is paid, ``answers`` reads what an app answered, ``booking`` writes it down
for sessions and actions, ``reports`` does the same for ``transactionEventReport``. Everything here was measured on a
running Saleor 3.23.28; ``tests/saleor_testing`` replays those recordings.
"""
