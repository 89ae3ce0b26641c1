"""Reports for people: one structure, written as a self-contained HTML page and as Markdown."""
