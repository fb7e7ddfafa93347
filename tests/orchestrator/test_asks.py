"""Which words ask to keep a file, and which answer the question about one."""

from __future__ import annotations

import pytest

from bot.orchestrator.asks import Verdict, Wish, verdict, wish


@pytest.mark.parametrize(
    "text",
    [
        "add this to our knowledge",
        "Please add this to our knowledge.",
        "Please add the attached policy to the company's documents, thanks",
        "Could you please keep this document?",
        "please remember this file",
        "Keep these documents.",
        "Hi there,\n\nplease keep the attached contract.\n\nBest regards\nAnna Muster",
        "Save the new travel policy in our knowledge base.",
        "Nimm das bitte in unser Wissen auf",
        "Bitte nimm dieses Dokument in unsere Unterlagen auf.",
        "Merk dir bitte diese Datei",
        "Behalte dieses Dokument. Danke!",
        "@exec_bot keep this document",
    ],
)
def test_a_sentence_that_asks_to_keep_a_file(text: str) -> None:
    assert wish(text) == Wish(command=False, alone=True)


@pytest.mark.parametrize(
    "text",
    [
        "Keep this short, please",
        "Remember this for our meeting",
        "Add this to the agenda",
        "What does this document say?",
        "Did you keep this document?",
        "Do not keep this document.",
        "I keep this document in my drawer, and you?",
        "She said: he should keep the file open until Monday",
        "Keep the file open until Monday",
        "",
    ],
)
def test_other_words_do_not(text: str) -> None:
    assert wish(text) is None


def test_more_words_want_an_answer_of_their_own() -> None:
    assert wish("Please add this to our knowledge. Which notice period does it name?") == Wish(False, alone=False)
    assert wish("/keep\nWhich notice period does it name?") == Wish(True, alone=False)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("/keep", Wish(True, True)),
        ("/learn", Wish(True, True)),
        ("@exec_bot /keep", Wish(True, True)),
        ("/keep@exec_bot", Wish(True, True)),
        ("/keep department:Finance", Wish(True, True, "department:Finance")),
        ("/keep public Travel policy.pdf", Wish(True, True, "public", "Travel policy.pdf")),
        ("/keep publicity.pdf", Wish(True, True, None, "publicity.pdf")),
    ],
)
def test_the_word_keep_with_whom_it_is_for_and_which_file(text: str, wanted: Wish) -> None:
    assert wish(text) == wanted


def test_a_word_that_only_begins_like_it_is_none() -> None:
    assert wish("/keeper") is None
    assert wish("Tell me what /keep does") is None


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("yes", Verdict(True, None)),
        ("Yes!", Verdict(True, None)),
        ("ja", Verdict(True, None)),
        ("OK.", Verdict(True, None)),
        ("Yes.\n\nBest regards\nAnna", Verdict(True, None)),
        ("no", Verdict(False, None)),
        ("Nein", Verdict(False, None)),
        ("yes policy.pdf", Verdict(True, "policy.pdf")),
        ("no: “Travel policy.pdf”", Verdict(False, "Travel policy.pdf")),
        ("@exec_bot yes", Verdict(True, None)),
    ],
)
def test_a_plain_yes_or_no(text: str, wanted: Verdict) -> None:
    assert verdict(text) == wanted


@pytest.mark.parametrize(
    "text", ["yesterday", "not yet", "nobody", "maybe", "yes\nbut only the first part of it, please", "", "I say yes"]
)
def test_anything_else_is_no_answer(text: str) -> None:
    assert verdict(text) is None
