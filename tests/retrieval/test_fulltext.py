"""Questions as full-text queries: few words, quoted, in several languages; the index in step with its table."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
import sqlalchemy as sa

from bot.retrieval.fulltext import MOST_TERMS, FullText, expression, spellings, terms

NOTES = sa.Table(
    "note",
    sa.MetaData(),
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("head", sa.Text, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
)
INDEX = FullText("note", "seq", ("head", "body"), (2.0, 1.0))


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sa.Connection]:
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'notes.db'}")
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA secure_delete = ON")
        NOTES.create(connection)
        for statement in INDEX.ddl():
            connection.exec_driver_sql(statement)
        connection.commit()
        yield connection
    engine.dispose()


def put(connection: sa.Connection, seq: int, body: str, head: str = "") -> None:
    connection.execute(NOTES.insert().values(seq=seq, head=head, body=body))
    connection.commit()


def find(connection: sa.Connection, question: str) -> list[int]:
    words = expression(terms(question))
    if not words:
        return []
    hit = INDEX.match().subquery("hit")
    found = list(connection.execute(sa.select(hit.c.key).order_by(hit.c.rank), {"words": words}).scalars())
    connection.rollback()
    return found


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("How long will our cash last?", {"long", "cash", "last"}),
        ("Wie lange reicht unser Geld noch?", {"lange", "reicht", "geld"}),
        ("Combien de temps notre argent va-t-il durer ?", {"combien", "temps", "argent", "durer"}),
        ("¿Cuánto tiempo durará nuestro dinero?", {"tiempo", "durara", "dinero"}),
        ("What is it?", {"what", "is", "it"}),  # nothing but stop words: better those than nothing
        ("rule 72", {"rule", "72"}),
        ("", set()),
        ("?!", set()),
    ],
)
def test_only_words_that_say_something_are_asked_for(question: str, kept: set[str]) -> None:
    assert set(terms(question)) == kept


def test_a_long_question_asks_for_its_longest_words_only() -> None:
    question = "we wonder about amortisation cap depreciation tax impairment duty recognition fee provisions lease 2026"
    assert terms(question) == ("amortisation", "depreciation", "recognition", "impairment", "provisions", "2026")
    assert len(terms("word " * 3 + " ".join(f"term{n}" for n in range(50)))) == MOST_TERMS


@pytest.mark.parametrize(
    "question",
    ['say "hello',
     "NEAR(cash runway)", "cash* AND NOT runway", "body:cash", "^cash", "cash - runway", "{head body}:cash",
     "cash') OR 1=1 --", "\"\"\"", "cash\x00runway"],
)  # fmt: skip
def test_what_people_write_is_never_taken_for_query_syntax(connection: sa.Connection, question: str) -> None:
    put(connection, 1, "the hello cash runway is long")
    put(connection, 2, "weather and cooking")
    assert find(connection, question) in ([1], [])


def test_inflections_and_accents_do_not_hide_a_word(connection: sa.Connection) -> None:
    put(connection, 1, "Suppliers were paid late in Zürich")
    put(connection, 2, "nothing of the kind")
    assert find(connection, "paying a supplier in zurich") == [1]


@pytest.mark.parametrize(
    ("word", "others"),
    [
        ("straße", ("strasse",)),
        ("strasse", ("straße",)),
        ("muenchen", ("munchen",)),
        ("munchen", ()),
        ("value", ()),
        ("issues", ("ißues",)),
        ("quellen", ()),
    ],
)
def test_a_word_is_looked_for_as_it_may_be_written_too(word: str, others: tuple[str, ...]) -> None:
    assert spellings(word) == others


def test_a_long_word_finds_the_compounds_that_begin_with_it(connection: sa.Connection) -> None:
    put(connection, 1, "Die Reisekostenrichtlinie gilt für alle")
    put(connection, 2, "Die Kantine hat offen")
    assert find(connection, "Was sagt die Regel zu Reisekosten?") == [1]


def test_a_word_in_the_heading_weighs_more(connection: sa.Connection) -> None:
    put(connection, 1, "pricing is mentioned here", "Something else")
    put(connection, 2, "nothing is mentioned here", "Pricing")
    assert find(connection, "pricing") == [2, 1]


def test_the_index_follows_its_table(connection: sa.Connection) -> None:
    put(connection, 1, "old words about zebras")
    connection.execute(NOTES.update().values(body="new words about giraffes"))
    connection.commit()
    assert find(connection, "zebras") == []
    assert find(connection, "giraffes") == [1]
    connection.execute(NOTES.delete())
    connection.commit()
    assert find(connection, "giraffes") == []
    assert INDEX.check(connection)


def test_a_check_finds_an_index_that_differs_and_a_rebuild_mends_it(connection: sa.Connection) -> None:
    put(connection, 1, "words about zebras")
    connection.exec_driver_sql("INSERT INTO note_fts(note_fts) VALUES ('delete-all')")
    connection.commit()
    assert not INDEX.check(connection)
    connection.rollback()
    INDEX.rebuild(connection)
    connection.commit()
    assert find(connection, "zebras") == [1]
    assert INDEX.check(connection)


def test_deleted_words_are_still_in_the_file_until_the_index_is_merged(
    connection: sa.Connection, tmp_path: Path
) -> None:
    for seq in range(200):
        put(connection, seq, f"quagga{seq} grazes among common words")
    connection.execute(NOTES.delete().where(NOTES.c.seq % 2 == 0))
    connection.commit()
    assert b"quagga" in (tmp_path / "notes.db").read_bytes()
    connection.execute(NOTES.delete())
    connection.commit()
    first = True
    while INDEX.merge_step(connection, first=first):
        connection.commit()
        first = False
    connection.commit()
    with closing(sqlite3.connect(tmp_path / "notes.db")) as plain:
        assert plain.execute("SELECT count(*) FROM note_fts_idx").fetchone()[0] <= 1
    assert b"quagga" not in (tmp_path / "notes.db").read_bytes()
