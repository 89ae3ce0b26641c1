"""Private primitives, one idea each: data and an account in, a release out."""
