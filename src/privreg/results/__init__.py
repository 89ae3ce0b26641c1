"""What a fit released: the release, the model file, and files that are written whole."""
