"""Where the records are: in memory, in files, on a cluster. One contract, the same bits."""
