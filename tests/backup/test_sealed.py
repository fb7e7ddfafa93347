"""What was sealed is read as it was written, or refused."""

from __future__ import annotations

import io
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.backup import sealed
from bot.backup.sealed import FRAME, DamagedBackupError, Reader, Writer
from bot.kernel.errors import PermanentError

CHEAP = 10
"""Cost of the passphrase in tests."""


def written(data: bytes, passphrase: str | None) -> bytes:
    file = io.BytesIO()
    writer = Writer(file, passphrase, CHEAP)
    for start in range(0, len(data), 70_000):
        writer.write(data[start : start + 70_000])
    writer.finish()
    return file.getvalue()


def opened(whole: bytes, passphrase: str | None) -> bytes:
    reader = Reader(io.BytesIO(whole), lambda: passphrase)
    found = b""
    while piece := reader.read(90_001):
        found += piece
    assert reader.ended
    return found


@pytest.mark.parametrize("passphrase", [None, "correct horse"])
@pytest.mark.parametrize("size", [0, 1, FRAME - 1, FRAME, FRAME + 1, 3 * FRAME])
def test_it_comes_back_as_it_was(size: int, passphrase: str | None) -> None:
    data = os.urandom(size)
    assert opened(written(data, passphrase), passphrase) == data


@pytest.mark.parametrize("passphrase", [None, "correct horse"])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_a_changed_byte_and_a_cut_are_refused(passphrase: str | None, data: st.DataObject) -> None:
    whole = bytearray(written(b"x" * 500, passphrase))
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(whole) - 1))
        whole[at] ^= data.draw(st.integers(1, 255))
    else:
        del whole[data.draw(st.integers(0, len(whole) - 1)) :]
    with pytest.raises(PermanentError):
        opened(bytes(whole), passphrase)


def test_frames_cannot_be_left_out_repeated_or_appended() -> None:
    whole = written(os.urandom(3 * FRAME), "p")
    head, frame = sealed._HEADER.size, 4 + FRAME + 16
    first, second, third = (whole[head + n * frame : head + (n + 1) * frame] for n in range(3))
    begin = whole[:head]
    assert begin + first + second + third == whole
    for other in (
        begin + second + third,
        begin + first + third,
        begin + second + first + third,
        begin + first + second,
        whole + b"x",
    ):
        with pytest.raises(DamagedBackupError):
            opened(other, "p")


def test_another_passphrase_opens_nothing_and_none_is_asked_for() -> None:
    whole = written(b"secret words", "right")
    assert b"secret" not in whole
    with pytest.raises(DamagedBackupError, match="passphrase is wrong"):
        opened(whole, "wrong")
    with pytest.raises(PermanentError, match="encrypted"):
        opened(whole, None)
    with pytest.raises(DamagedBackupError, match="not a backup"):
        opened(b"something else entirely, long enough to be one", None)


def test_who_is_asked_for_a_passphrase_is_asked_only_if_there_is_one() -> None:
    def never() -> str | None:
        raise AssertionError("nobody is to be asked")

    assert Reader(io.BytesIO(written(b"abc", None)), never).read() == b"abc"
