"""Realistic privacy bugs, each a small patch of the program. Every one must be caught by a check: audit/mutants.py.

They are what public implementations got wrong, what reviews of this one found, and what a hurried change could do.
"""

from audit.bugs import account, around, beside, glue, noise, reading, sensitivity

BUGS = {**noise.BUGS, **account.BUGS, **sensitivity.BUGS, **around.BUGS, **beside.BUGS, **reading.BUGS, **glue.BUGS}
