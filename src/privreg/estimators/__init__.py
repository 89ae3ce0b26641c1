"""The public estimators, one file each, and what they share."""
