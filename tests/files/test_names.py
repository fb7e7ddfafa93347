from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.files.names import MAX_BYTES, MAX_CHARACTERS, clean_name, clean_names, split_extension

_DEVICES = {"con", "prn", "aux", "nul", "conin$", "conout$"} | {f"{d}{n}" for d in ("com", "lpt") for n in "0123456789"}


@pytest.mark.case(106)
@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("../../x", "x"),
        ("..\\..\\x", "x"),
        ("a\0.txt", "a.txt"),
        (".", "file"),
        ("..", "file"),
        ("...", "file"),
        ("", "file"),
        ("/", "file"),
        ("   ", "file"),
        ("\0\x1f\x7f", "file"),
        ("/etc/passwd", "passwd"),
        ("C:\\Users\\me\\plan.pdf", "plan.pdf"),
        ("dir/", "dir"),
        ("a/..", "a"),
        ("..／..／etc", "_.._etc"),
        ("a∕b.txt", "a_b.txt"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("a\u2066b\u2069\u200f.txt", "ab.txt"),
        ("line\r\nbreak.txt", "line break.txt"),
        ("tab\there.txt", "tab here.txt"),
        ("a\u2028b.txt", "a b.txt"),
        ("report.pdf. . ", "report.pdf"),
        (".bashrc", "bashrc"),
        ("file.txt:stream", "file.txt_stream"),
        ('what?<>"|*.txt', "what______.txt"),
        ("NUL", "_NUL"),
        ("nul.txt", "_nul.txt"),
        ("con .tar.gz", "_con .tar.gz"),
        ("COM¹.log", "_COM¹.log"),
        ("console.txt", "console.txt"),
        ("\ud800bad.txt", "bad.txt"),
        ("Cafe\u0301.pdf", "Café.pdf"),
        ("家族👨\u200d👩\u200d👧.png", "家族👨\u200d👩\u200d👧.png"),
        ("\u200d\u200c", "file"),
    ],
)
def test_case_106_shown_name_is_one_harmless_component(raw: str, shown: str) -> None:
    assert clean_name(raw) == shown


@pytest.mark.case(106)
def test_case_106_long_names_keep_their_extension() -> None:
    assert clean_name("a" * 300 + ".pdf") == "a" * 116 + ".pdf"
    assert clean_name("a" * 300 + ".tar.gz").endswith("a.tar.gz")
    assert len(clean_name("a" * 300)) == MAX_CHARACTERS
    assert len(clean_name("a." + "b" * 300)) == MAX_CHARACTERS
    wide = clean_name("漢" * 300 + ".docx")
    assert wide.endswith("漢.docx")
    assert len(wide.encode()) <= MAX_BYTES
    marked = clean_name("x" * 115 + "q\u0323\u0323" * 5 + ".pdf")
    assert len(marked) <= MAX_CHARACTERS
    assert marked.endswith(("x.pdf", "q\u0323\u0323.pdf"))


@pytest.mark.case(106)
def test_case_106_equal_names_are_kept_apart() -> None:
    assert clean_names(["a.txt", "x/a.txt", "A.TXT", "a (2).txt"]) == [
        "a.txt",
        "a (2).txt",
        "A (3).TXT",
        "a (2) (2).txt",
    ]
    assert clean_names([".", "..", ""]) == ["file", "file (2)", "file (3)"]
    assert clean_names(["ﬁle.txt", "file.txt"]) == ["ﬁle.txt", "file (2).txt"]
    long = clean_names(["n" * 300 + ".pdf"] * 12)
    assert len(set(long)) == 12
    assert all(len(each) <= MAX_CHARACTERS and each.endswith(".pdf") for each in long)


def test_extension_of_the_fallback_name() -> None:
    assert clean_name("..", ".png") == "file.png"
    assert clean_name("a", ".png") == "a"
    assert split_extension("a.b c") == ("a.b c", "")
    assert split_extension(".env") == (".env", "")


_NASTY = st.text(st.one_of(st.characters(), st.sampled_from("/\\.:\0\u202e\u200d\u0301 \r\nCONUL①漢👨")), max_size=400)


@pytest.mark.case(106)
@given(st.lists(_NASTY, max_size=6))
def test_case_106_no_name_escapes_the_rules(raws: list[str]) -> None:
    shown = clean_names(raws)
    assert len(shown) == len(raws)
    assert len({each.casefold() for each in shown}) == len(shown)
    for each in shown:
        assert each
        assert len(each) <= MAX_CHARACTERS
        assert len(each.encode()) <= MAX_BYTES
        assert not set(each) & set('/\\:\0\r\n\u202e\u2066<>"|?*')
        assert each.strip(" .") not in {"", ".", ".."}
        assert each[0] not in " ."
        assert each[-1] not in " ."
        assert each.partition(".")[0].strip().casefold() not in _DEVICES
