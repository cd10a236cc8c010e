"""The words of the app in the languages of its readers: staff, shoppers and storefronts."""
