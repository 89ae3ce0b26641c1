"""Where the records are: in memory, in files, on a cluster. One contract (base.py), the same bits.

`registry.kind_of(X)` says what kind of table X is, and the kind opens it as an `Engine`:

- memory.py has a table that is an array or a data frame;
- streamed.py reads Parquet files by threads of this process, dask/ has workers of a cluster read files or the
  partitions of a Dask data frame. Both are a `PartsEngine` (parts.py).

Words for pieces of a table, from small to large:

- a `Block` is some columns of some records, as arrays: what a task computes on;
- a `RowGroup` (privreg.data.parquet) is what a Parquet file stores together;
- a `Part` is consecutive rows that one task reads, block by block: a `FilePart` from row groups of files, a `FramePart`
  from a partition of a Dask data frame.
"""
