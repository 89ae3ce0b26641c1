"""Who is at work, for the record."""

import getpass


def login_name() -> str:
    """The name of the user on this computer, or "unknown". It is noted, not proved."""
    try:
        name = getpass.getuser()
    except (OSError, KeyError, ImportError):  # no such variable, and no entry in the password file
        return "unknown"
    return name.encode(errors="replace").decode() or "unknown"
