"""The app's messages in the languages of its readers: staff, shoppers and storefronts."""
