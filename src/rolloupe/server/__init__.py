"""The web face: HTTP translated to queries and nothing more. `serve.serve` starts it, `app.create_app` builds it."""
