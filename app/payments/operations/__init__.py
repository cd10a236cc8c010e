"""Everything that moves money: journaled, asked of the gateway, and recorded, by one function (``execute``)."""
