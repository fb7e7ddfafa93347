"""What reads alike compares alike, and what says something else does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.memory.normal import normal, plain, solid

SAID = "The budget for Aurora is 20k"


@pytest.mark.parametrize(
    "told",
    [
        "the BUDGET for aurora is 20K.",
        "  The budget\n for\tAurora is 20k  ",
        "The bud\u200bget for Au\u00adrora is 20\u2060k",  # zero width space, soft hyphen, word joiner
        "\u202eThe budget for Aurora is 20k\u202c",  # bidi
        "Тhе budgеt fоr Аurоrа іs 20k",  # Cyrillic look-alikes
        "Τhe budget for Αurοra is 20k",  # Greek look-alikes
        "Ｔｈｅ ｂｕｄｇｅｔ ｆｏｒ Ａｕｒｏｒａ ｉｓ ２０ｋ",  # full width
        "𝐓𝐡𝐞 𝐛𝐮𝐝𝐠𝐞𝐭 𝐟𝐨𝐫 𝐀𝐮𝐫𝐨𝐫𝐚 𝐢𝐬 𝟐𝟎𝐤",  # mathematical
        "Ⓣⓗⓔ budget for Ⓐurora is ②⓪k",
        "The b\u0335u\u0336dget for Aurora is 20k",  # struck through
        "The búdgét for Auröra is 20k",
        "The budget, for “Aurora”, is: 20k!",
        "The budget for Aurora is 2Ok",  # the letter O
        "The budget for Aurora 1s 20k",
        "The budget for Aurora\u3164 is\u2800 20k",
        "The\U000e0041 budget for Aurora is 20k\ufe0f",  # tag character, variation selector
    ],
)
def test_disguises_of_one_sentence_have_one_form(told: str) -> None:
    assert normal(told) == normal(SAID)


@pytest.mark.parametrize(
    "told",
    ["The budget for Aurora is 30k", "The budget for Borealis is 20k", "The budget for Aurora is not 20k", ""],
)
def test_other_sentences_have_another_form(told: str) -> None:
    assert normal(told) != normal(SAID)


def test_spacing_makes_no_difference_to_the_solid_form() -> None:
    assert solid("T h e b u d g e t for Aurora is 20 k") == solid(SAID)


@pytest.mark.parametrize(("one", "other"), [("Straße", "STRASSE"), ("Größe", "größe"), ("20 €", "20 €.")])
def test_case_and_accents_make_no_difference(one: str, other: str) -> None:
    assert normal(one) == normal(other)


def test_the_plain_form_reads_as_it_was_written() -> None:
    assert plain("We’ll pay  20\u202fk\u200b,\n“maybe”") == "We’ll pay 20 k, “maybe”"


@given(st.text())
def test_the_forms_do_not_change_when_taken_again(text: str) -> None:
    assert normal(normal(text)) == normal(text)
    assert plain(plain(text)) == plain(text)
    assert "  " not in normal(text)


@given(st.text())
def test_other_words_around_do_not_hide_what_is_compared(text: str) -> None:
    assert solid(SAID) in solid(f"{text} {SAID} {text}")
