"""Realistic privacy bugs, each a small patch of the program. Every one must be caught by a check: audit/mutants.py.

They are what public implementations got wrong, what reviews of this one found, and what a hurried change could do.
"""

from audit.bugs import account, around, beside, formulas, glue, levels, noise, public, reading, sensitivity

_ROOMS = (noise, account, sensitivity, around, beside, reading, levels, formulas, glue, public)
BUGS = {name: bug for room in _ROOMS for name, bug in room.BUGS.items()}
