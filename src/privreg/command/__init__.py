"""What the commands do, after cli.py has parsed them and before show.py prints."""
