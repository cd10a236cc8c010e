"""What a store's payments have brought: a day, a month or any period, by both books."""
