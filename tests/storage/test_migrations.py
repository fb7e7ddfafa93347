"""A file made at once and one made by all migrations are the same; older files are saved aside, newer ones refused."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from bot.kernel.errors import PermanentError
from bot.storage import migrate
from bot.storage.database import Database, StoreDamagedError
from bot.storage.metadata import metadata
from bot.storage.migrations import HEAD, KNOWN

pytestmark = pytest.mark.usefixtures("all_tables")


def _schema(path: Path) -> dict[str, str]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT type || ' ' || name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: re.sub(r"\s+", " ", sql).replace("( ", "(").replace(" )", ")").strip() for name, sql in rows}


def _constraints_sorted(sql: str) -> list[str]:
    """Alembic and SQLAlchemy write a table's constraints in different orders, which means nothing to SQLite."""
    return sorted(part.strip(" ,)") for part in re.split(r"(?=CONSTRAINT )|, (?=\w+ [A-Z]+)", sql))


def _is_no_shadow(name: str | None, kind: str, _parents: object) -> bool:
    """Full-text indexes and the tables in their shadow are made by triggers of DDL, not from the metadata."""
    return kind != "table" or "_fts" not in (name or "")


def test_a_new_file_and_a_migrated_one_have_the_same_schema(tmp_path: Path) -> None:
    made, migrated = tmp_path / "made.db", tmp_path / "migrated.db"
    migrate.prepare(made)
    migrated.touch()
    migrate.upgrade(migrated)
    first, second = _schema(made), _schema(migrated)
    assert first.keys() == second.keys()
    for name in first:
        assert _constraints_sorted(first[name]) == _constraints_sorted(second[name]), name


def test_alembic_finds_nothing_to_change_after_all_migrations(tmp_path: Path) -> None:
    path = tmp_path / "migrated.db"
    migrate.upgrade(path)
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True, "include_name": _is_no_shadow}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, metadata) == []
    engine.dispose()


def test_every_room_with_tables_is_in_the_schema(tmp_path: Path, all_tables: list[str]) -> None:
    migrate.prepare(tmp_path / "made.db")
    assert {"audit", "people", "sessions", "outbox", "intake"} <= set(all_tables)
    assert {f"table {name}" for name in metadata.tables} <= _schema(tmp_path / "made.db").keys()


def test_known_versions_are_those_of_the_scripts_oldest_first() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(migrate.__file__).parent / "migrations"))
    scripts = ScriptDirectory.from_config(config)
    assert tuple(script.revision for script in scripts.walk_revisions())[::-1] == KNOWN
    assert scripts.get_current_head() == HEAD


@pytest.mark.parametrize(
    "script", sorted((Path(migrate.__file__).parent / "migrations/versions").glob("*.py")), ids=str
)
def test_a_migration_stands_by_itself(script: Path) -> None:
    assert not re.search(r"^\s*(from|import) (bot|config|channels)\b", script.read_text(), re.MULTILINE)


def test_a_newer_file_is_refused_with_the_version_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    migrate.prepare(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(migrate.NewerDatabaseError, match=f"9999.*{HEAD}"):
        migrate.prepare(path)
    assert [p.name for p in tmp_path.iterdir() if "before" in p.name] == []


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE bookmarks (url TEXT)")
    with pytest.raises(PermanentError, match="not one of this program"):
        migrate.prepare(path)


async def test_a_file_that_is_no_database_is_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"This is a letter, not a database. " * 200)
    with pytest.raises(StoreDamagedError, match="restore a backup"):
        async with Database.open(path):
            pass


def _older_file(path: Path) -> None:
    """A file of the version before the first script, with something in it that must be kept."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)")
        connection.execute("CREATE TABLE keepsake (words TEXT)")
        connection.execute("INSERT INTO keepsake VALUES ('from before')")
        connection.execute("INSERT INTO alembic_version VALUES ('0000')")


def test_an_upgrade_saves_the_file_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    _older_file(path)
    monkeypatch.setattr(migrate, "KNOWN", ("0000", *KNOWN))
    upgraded: list[bool] = []

    def upgrade(target: Path) -> None:
        upgraded.append((tmp_path / f"store.db.before-{HEAD}").exists())

    monkeypatch.setattr(migrate, "upgrade", upgrade)
    migrate.prepare(path)
    assert upgraded == [True], "the copy was there before the upgrade began"
    copy = tmp_path / f"store.db.before-{HEAD}"
    with closing(sqlite3.connect(copy)) as connection:
        assert connection.execute("SELECT words FROM keepsake").fetchall() == [("from before",)]
    assert copy.stat().st_mode & 0o777 == 0o600


def test_a_new_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch(0o644)
    migrate.prepare(path)
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_start_that_dies_while_making_the_file_leaves_nothing_half_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "store.db"

    def dies(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(migrate._version_table, "create", dies)
        with pytest.raises(KeyboardInterrupt):
            migrate.prepare(path)
    migrate.prepare(path)
    assert "table audit" in _schema(path)


def test_a_migration_that_fails_leaves_nothing_half_made(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE thread (words TEXT)")  # in the way of the first script, after some tables
    before = _schema(path)
    with pytest.raises(sa.exc.OperationalError, match="already exists"):
        migrate.upgrade(path)
    assert _schema(path) == before


def test_events_of_proposals_are_kept_by_the_migration_that_makes_their_table_anew(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()
    migrate.upgrade(path, "0004")
    row = "7, 'p1', 1, 'made', 'send_email', NULL, 'proposed', 'model', 'm', 'h', NULL, 0.5, 1"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"INSERT INTO proposal_event VALUES ({row})")
    migrate.upgrade(path)
    with closing(sqlite3.connect(path)) as connection, connection:
        assert connection.execute("SELECT seq, op, confidence FROM proposal_event").fetchall() == [(7, "made", 0.5)]
        connection.execute(f"INSERT INTO proposal_event VALUES ({row.replace('7, ', '8, ').replace(', 1, ', ', 2, ')})")
        with pytest.raises(sqlite3.IntegrityError, match="never changed"):
            connection.execute("UPDATE proposal_event SET op = 'bounced'")
