"""The sentence model that ships: checked, without network, and near in meaning across languages."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from bot.retrieval.embedder import EmbedderError, check_files
from bot.retrieval.use3 import Use3


@pytest.fixture(scope="module")
def embedder() -> Use3:
    embedder = Use3()
    embedder.load()
    return embedder


@pytest.mark.case(130)
def test_case_130_the_model_is_loaded_and_used_without_any_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("nothing may be fetched")

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", refused)
    embedder = Use3()
    assert embedder.embed(["a first question"]).shape == (1, 512)


@pytest.mark.case(130)
@pytest.mark.parametrize("fault", ["missing", "another"])
def test_case_130_a_model_file_that_is_not_the_expected_one_is_refused(tmp_path: Path, fault: str) -> None:
    if fault == "another":
        (tmp_path / "weights.npz").write_bytes(b"other numbers")
        (tmp_path / "sp.model").write_bytes(b"other words")
    with pytest.raises(EmbedderError, match="reinstall"):
        Use3(tmp_path).load()


def test_files_with_the_expected_digest_are_taken(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    check_files(tmp_path, {"file": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"})


def test_vectors_have_length_one_whatever_the_text(embedder: Use3) -> None:
    import numpy as np

    texts = ["", " ", "word", "x" * 100_000, "日本語", "\x00\ud7ff", "🙂" * 50]
    lengths = np.linalg.norm(embedder.embed(texts), axis=1)
    assert np.allclose(lengths, 1, atol=1e-3)


def test_a_text_has_the_same_vector_alone_and_beside_longer_ones(embedder: Use3) -> None:
    import numpy as np

    text = "How long will the cash last?"
    alone = embedder.embed([text])[0]
    beside = embedder.embed([text, "a much longer text " * 40])[0]
    assert np.allclose(alone, beside, atol=1e-4)


@pytest.mark.parametrize(
    "question", ["How long will our money last?", "Wie lange reicht unser Geld?", "¿Cuánto durará nuestro dinero?",
                 "Combien de temps notre argent va-t-il durer ?"],
)  # fmt: skip
def test_a_question_is_nearest_to_what_answers_it_in_several_languages(embedder: Use3, question: str) -> None:
    notes = ["Cash runway: months until the bank account is empty", "Interview questions for hiring a sales lead",
             "Terms and conditions of a lease for an office"]  # fmt: skip
    near = embedder.embed(notes) @ embedder.embed([question])[0]
    assert int(near.argmax()) == 0
