"""The web face: HTTP translated to queries and nothing more. `process.serve` starts it, `app.create_app` builds it."""
