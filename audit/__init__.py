"""Checks that the guarantee holds, on the whole program: `make audit`. What they found is in docs/verification.md."""
