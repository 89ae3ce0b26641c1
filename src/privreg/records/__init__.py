"""The complete records of a table and a target, wherever they are: in memory, in files, on a cluster."""
