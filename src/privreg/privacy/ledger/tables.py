"""The tables of a ledger's file, and how a file of version 1 becomes one of version 2.

All of it happens in the transaction of whoever asks: a process that is killed in between leaves the file as it was.
Checks with killed processes: tests/privacy/ledger/test_migration.py.
"""

import sqlite3

from privreg.privacy.ledger.status import OLD_RULE, RULE

APPLICATION = 0x70726567  # marks the file as ours
VERSION = 2

_TABLES = f"""
CREATE TABLE dataset (
    name TEXT PRIMARY KEY, epsilon TEXT NOT NULL, delta TEXT NOT NULL, created TEXT NOT NULL, unit TEXT,
    entries INTEGER NOT NULL DEFAULT 0, sum_epsilon TEXT NOT NULL DEFAULT '0', sum_delta TEXT NOT NULL DEFAULT '0',
    mu_squared TEXT DEFAULT '0', last_delta TEXT, sum_extra TEXT NOT NULL DEFAULT '0',
    rule INTEGER NOT NULL DEFAULT {RULE});
CREATE TABLE entry (
    number INTEGER PRIMARY KEY AUTOINCREMENT, dataset TEXT NOT NULL REFERENCES dataset (name), time TEXT NOT NULL,
    what TEXT NOT NULL, unit TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL, mu_squared TEXT,
    state TEXT NOT NULL, receipt TEXT, extra_delta TEXT NOT NULL DEFAULT '0', who TEXT NOT NULL DEFAULT '',
    purpose TEXT NOT NULL DEFAULT '', fingerprint TEXT);
CREATE INDEX entry_of ON entry (dataset);
"""
_NEW_TABLES = """
CREATE TABLE amendment (
    number INTEGER PRIMARY KEY AUTOINCREMENT, dataset TEXT NOT NULL REFERENCES dataset (name), time TEXT NOT NULL,
    who TEXT NOT NULL, reason TEXT NOT NULL, old_epsilon TEXT NOT NULL, old_delta TEXT NOT NULL, epsilon TEXT NOT NULL,
    delta TEXT NOT NULL, after INTEGER NOT NULL);
CREATE TABLE cap (
    dataset TEXT NOT NULL REFERENCES dataset (name), who TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT NOT NULL,
    PRIMARY KEY (dataset, who));
"""
# A data set without entries has released nothing, so it may have the new rule; others keep the one they began with.
_FROM_VERSION_1 = f"""
ALTER TABLE dataset ADD COLUMN sum_extra TEXT NOT NULL DEFAULT '0';
ALTER TABLE dataset ADD COLUMN rule INTEGER NOT NULL DEFAULT {RULE};
ALTER TABLE entry ADD COLUMN extra_delta TEXT NOT NULL DEFAULT '0';
ALTER TABLE entry ADD COLUMN who TEXT NOT NULL DEFAULT '';
ALTER TABLE entry ADD COLUMN purpose TEXT NOT NULL DEFAULT '';
ALTER TABLE entry ADD COLUMN fingerprint TEXT;
UPDATE dataset SET rule = {OLD_RULE} WHERE entries <> 0 OR name IN (SELECT dataset FROM entry);
"""


def make_tables(file: sqlite3.Connection) -> None:
    """In an empty file."""
    _run(file, f"PRAGMA application_id = {APPLICATION};" + _TABLES + _NEW_TABLES + f"PRAGMA user_version = {VERSION}")


def version_of(file: sqlite3.Connection) -> int:
    (version,) = file.execute("PRAGMA user_version").fetchone()
    return int(version)


def migrate(file: sqlite3.Connection) -> None:
    """Bring a file of version 1 up to date. Every entry stays, with δ′ = 0."""
    if version_of(file) == 1:
        _run(file, _FROM_VERSION_1 + _NEW_TABLES + f"PRAGMA user_version = {VERSION}")


def migrated_copy(file: sqlite3.Connection) -> sqlite3.Connection:
    """The same content up to date, in memory: reading does not change a file, which may be write-protected."""
    copy = sqlite3.connect(":memory:", isolation_level=None)
    file.backup(copy)
    migrate(copy)
    return copy


def _run(file: sqlite3.Connection, statements: str) -> None:
    """One by one: `executescript` would end the transaction."""
    for statement in filter(str.strip, statements.split(";")):
        file.execute(statement)
