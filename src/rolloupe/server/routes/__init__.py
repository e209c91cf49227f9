"""The routes, one module for each subject: they turn HTTP requests into queries, and answers into records of `wire`."""
