"""What a real terminal shows, at several widths."""

import os
import re
import subprocess
import sys
import tempfile
from contextlib import suppress

_BETWEEN = "\x1e"
_RESIZE = """
import fcntl, struct, sys, termios
for width in {widths}:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    show()
    sys.stdout.write("{between}")
    sys.stdout.flush()
"""


def on_terminals(code, widths, cwd=None):
    """The lines that `show()` of the code prints on a terminal of each width, without colours: by width."""
    reader, writer = os.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
    script = code + _RESIZE.format(widths=list(widths), between=_BETWEEN)
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            [sys.executable, "-c", script],
            stdin=writer,
            stdout=writer,
            stderr=errors,
            cwd=cwd,
            env=environment | {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"},
        ) as process,
    ):
        os.close(writer)
        shown = b""
        with suppress(OSError):  # the terminal is closed
            while part := os.read(reader, 65536):
                shown += part
        process.wait()
        errors.seek(0)
        assert process.returncode == 0, errors.read().decode()
    os.close(reader)
    text = re.sub(r"\x1b\[[\d;]*m", "", shown.decode()).replace("\r\n", "\n")
    return {width: part.splitlines() for width, part in zip(widths, text.split(_BETWEEN), strict=False)}


def on_a_terminal(code, *arguments):
    """All that a program writes to a terminal, with stderr: moving lines and colours, too."""
    reader, writer = os.openpty()
    environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES", "NO_COLOR")}
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=writer,
        stdout=writer,
        stderr=writer,
        env=environment | {"TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"},
    ):
        os.close(writer)
        shown = b""
        with suppress(OSError):  # the terminal is closed
            while part := os.read(reader, 65536):
                shown += part
    os.close(reader)
    return shown.decode()
