"""From anything to columns: data frames, arrays and files. Nothing behind this door knows pandas, polars or arrow."""
