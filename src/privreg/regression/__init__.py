"""Private linear regression, one method a file."""
