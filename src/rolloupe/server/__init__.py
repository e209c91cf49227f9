"""The web server: translates HTTP requests to queries. `process.serve` starts it, `app.App` is it."""
