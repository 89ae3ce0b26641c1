"""What makes the inputs, one target at a time: hypothesis and atheris, and a process for each."""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from types import FunctionType
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from audit.fuzz import TARGETS
from audit.fuzz.inputs import PIECES, inputs, seeds
from audit.fuzz.outcome import PATIENCE, folder, patience, place

ENGINES = ("atheris", "hypothesis")
LEAST = 25  # executions, however slow the machine: more than there are seeds, so that something was told
SETTINGS: dict[str, Any] = {
    "max_examples": 200,
    "deadline": None,
    "database": None,
    "derandomize": False,
    "report_multiple_bugs": False,
    "suppress_health_check": list(HealthCheck),
    "phases": (Phase.generate, Phase.shrink),
}


def with_hypothesis(target: str, seconds: float) -> dict[str, Any]:
    """Run a target on new inputs until the time is over, or until it has failed a few times."""
    function, end = TARGETS[target], time.monotonic() + seconds
    examples, found, run = 0, list[str](), 0

    def once(data: bytes) -> None:
        nonlocal examples
        examples += 1
        with patience():
            function(data)

    while time.monotonic() < end and len(found) < 5:
        run += 1
        try:
            seed(run)(settings(**SETTINGS)(given(inputs(target))(once)))()
        except Exception as error:
            found.append(_described(error))
    return {"examples": examples, "findings": sorted(set(found))}


def _described(error: BaseException) -> str:
    places = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)]
    notes = " ".join(getattr(error, "__notes__", []))
    return f"{type(error).__name__}: {error} ({', '.join(places[-2:])}) {notes}"[:600]


def with_atheris(target: str, seconds: float) -> None:
    """Hand this process to libFuzzer until the time is over. Ends the process."""
    import atheris

    for name, module in list(sys.modules.items()):
        if name.startswith("privreg"):
            for part in vars(module).values():
                if getattr(part, "__module__", "") == name:
                    _instrument(atheris, part)
    TARGETS[target](b"")  # loads what is loaded late
    end, done = time.monotonic() + seconds, 0

    def once(data: bytes) -> None:
        nonlocal done
        if time.monotonic() > end and done >= LEAST:
            # Not as libFuzzer ends by itself: it holds Python's lock, for which a thread of arrow may wait for ever.
            print(f"executions: {done}", file=sys.stderr, flush=True)
            os._exit(0)
        done += 1
        TARGETS[target](data)

    atheris.Setup([sys.argv[0], *_flags(target, folder())], once)
    atheris.Fuzz()


def _instrument(atheris: Any, part: Any) -> None:
    """Functions of the product report which code they reach."""
    if isinstance(part, type):
        for member in vars(part).values():
            _instrument(atheris, getattr(member, "fget", getattr(member, "__func__", member)))
    elif isinstance(part, FunctionType):
        atheris.instrument_func(part)


def _flags(target: str, home: Path) -> list[str]:
    """Of libFuzzer, with what it begins with written to a folder."""
    corpus, words = home / "corpus", home / "words"
    corpus.mkdir()
    for number, content in enumerate(seeds(target)):
        (corpus / str(number)).write_bytes(content)
    escaped = ("".join(map("\\x{:02x}".format, word)) for word in PIECES if len(word) < 60)
    words.write_text("".join(f'"{word}"\n' for word in escaped))
    limits = [f"-timeout={PATIENCE:.0f}", "-max_len=4096", "-rss_limit_mb=4096"]
    return [*limits, "-print_final_stats=1", f"-dict={words}", f"-artifact_prefix={home}/", str(corpus)]


def run_one(target: str, engine: str, seconds: float) -> dict[str, Any]:
    """A target in a process of its own, which may crash."""
    command = [sys.executable, "-m", "audit.fuzz", "--target", target, "--engine", engine, "--seconds", str(seconds)]
    root = Path(__file__).resolve().parents[2]
    options: dict[str, Any] = {"cwd": root, "capture_output": True, "encoding": "utf-8", "errors": "replace"}
    with tempfile.TemporaryDirectory(prefix="privreg-fuzz-", dir=place()) as temporary:
        try:
            out = subprocess.run(command, env=os.environ | {"TMPDIR": temporary}, timeout=seconds + 120, **options)
        except subprocess.TimeoutExpired:
            return {"findings": ["hang: the process did not end"]}
    return _told_by_hypothesis(out) if engine == "hypothesis" else _told_by_atheris(out)


def _told_by_hypothesis(out: Any) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(out.stdout.splitlines()[-1])
        return found
    except (IndexError, ValueError):
        return {"findings": [f"crash: status {out.returncode}: {out.stderr[-400:]}"]}


def _told_by_atheris(out: Any) -> dict[str, Any]:
    told = {"executions": r"execut(?:ions|ed_units):\s*([0-9]+)", "edges": r".*\bcov: ([0-9]+)"}
    counts = {name: int(match[1]) for name, pattern in told.items() if (match := re.search(pattern, out.stderr, re.S))}
    if out.returncode == 0:
        return counts | {"findings": []}
    lines = (out.stderr + out.stdout).splitlines()
    said = [line for line in lines if re.search(r"Finding|SUMMARY: |Error|Exception|Base64: |privreg/[\w/]+\.py", line)]
    return counts | {"findings": [f"status {out.returncode}: {' | '.join(said or lines[-10:])}"[-900:]]}
