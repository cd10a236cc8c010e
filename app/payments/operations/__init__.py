"""Everything that moves money: intent committed, gateway called and outcome recorded by one function (``execute``)."""
