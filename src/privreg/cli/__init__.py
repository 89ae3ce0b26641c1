"""The `privreg` command: parses, checks, fits through the public API, prints."""
