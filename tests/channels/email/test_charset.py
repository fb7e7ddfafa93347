from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.email.charset import decode, decode_header, one_line


@pytest.mark.case(90)
@pytest.mark.parametrize(
    "label", ["x-made-up", "", None, "unicode_escape", "idna", "rot13", "hex", "undefined", "a" * 500, "\0"]
)
def test_case_90_unknown_charset_falls_back(label: str | None) -> None:
    assert decode("grüße".encode(), label) == "grüße"
    assert decode("grüße".encode("cp1252"), label) == "grüße"


@pytest.mark.case(90)
@pytest.mark.parametrize(
    ("raw", "text"),
    [
        ("=?x-nope?B?aGk=?=", "hi"),
        ("=?utf-8?B?aGk?= there", "hi there"),
        ("=?utf-8?B?a?=", ""),
        ("=?utf-8?Q?=ZZ?=", "=ZZ"),
        ("=?utf-8*en?Q?a=5Fb?=", "a_b"),
    ],
)
def test_case_90_broken_encoded_words_are_read_as_far_as_possible(raw: str, text: str) -> None:
    assert decode_header(raw) == text


@pytest.mark.case(91)
@pytest.mark.parametrize("label", ["gb2312", "GBK", "gb18030"])
def test_case_91_gb2312_is_read_as_gb18030(label: str) -> None:
    assert decode("朱镕基".encode("gb18030"), label) == "朱镕基"


@pytest.mark.case(91)
def test_case_91_gb2312_in_a_header_is_read_as_gb18030() -> None:
    raw = "朱镕基".encode("gb18030")
    word = "".join(f"={b:02X}" for b in raw)
    assert decode_header(f"=?gb2312?Q?{word}?=") == "朱镕基"


@pytest.mark.case(91)
@pytest.mark.parametrize(
    ("data", "label", "text"),
    [(b"\x93quoted\x94", "iso-8859-1", "“quoted”"), (b"\x87\x40", "shift_jis", "①"), (b"\x80", "latin1", "€")],
)
def test_case_91_neighbours_are_read_as_they_are_written(data: bytes, label: str, text: str) -> None:
    assert decode(data, label) == text


def test_words_cut_within_a_character_are_joined() -> None:
    raw = "é".encode()
    assert decode_header(f"=?utf-8?Q?={raw[0]:02X}?= =?utf-8?Q?={raw[1]:02X}?=") == "é"


def test_plain_text_between_words_keeps_its_spaces() -> None:
    assert decode_header("a =?utf-8?Q?b?= c =?utf-8?Q?d?=\r\n =?utf-8?Q?e?=") == "a b c de"


@pytest.mark.case(93)
def test_case_93_folded_header_is_one_line() -> None:
    assert decode_header("a long\r\n\tsubject\r\n of three") == "a long subject of three"


@pytest.mark.case(94)
def test_case_94_encoded_line_end_is_no_line_end() -> None:
    assert decode_header("Hi=?utf-8?Q?=0D=0A?=Bcc: evil@example.com") == "Hi Bcc: evil@example.com"


def test_raw_eight_bit_header_is_decoded() -> None:
    assert decode_header("grüße".encode("cp1252").decode("ascii", "surrogateescape")) == "grüße"


@given(st.binary(max_size=200), st.text(max_size=20) | st.none())
def test_decode_never_raises_and_can_be_stored(data: bytes, label: str | None) -> None:
    decode(data, label).encode("utf-8")


@given(st.text(alphabet=st.characters(), max_size=200))
def test_decode_header_never_raises_and_is_one_line(value: str) -> None:
    text = decode_header(value)
    text.encode("utf-8")
    assert text == one_line(text)


@given(st.sampled_from(["utf-8", "gb2312", "x", "utf-7", "iso-2022-jp"]), st.sampled_from("BQbq"), st.text(max_size=40))
def test_decode_header_of_any_word_never_raises(charset: str, kind: str, body: str) -> None:
    decode_header(f"=?{charset}?{kind}?{body}?=").encode("utf-8")
