"""Records on a Dask cluster."""
