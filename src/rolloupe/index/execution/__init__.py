"""Where parts are scanned: in processes of this machine."""
