"""The proceeds of a store's payments: of a day, a month or any period, by our books and the gateway's."""
