"""One module a subject: HTTP requests become queries, and answers become records of `wire`."""
