"""`PrivateLinearRegression`: schedule, phases, model and standard errors."""
