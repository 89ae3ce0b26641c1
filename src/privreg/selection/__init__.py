"""Private feature selection: DPKendall and SubLasso."""
