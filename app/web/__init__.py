"""What people see in a browser: the pages in the Dashboard, the shopper's pages, files, and what browsers may do."""
