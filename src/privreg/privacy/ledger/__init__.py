"""A data set's total budget, kept on disk."""
