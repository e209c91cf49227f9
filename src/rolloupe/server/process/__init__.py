"""The process around the application: socket, server, token, console, browser."""
