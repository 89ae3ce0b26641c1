"""What is spent, what it costs, and where the noise comes from."""
