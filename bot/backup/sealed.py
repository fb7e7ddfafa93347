"""The outer form of a backup: a stream of bytes that was either written to its end, unchanged, or is refused.

Encrypted: frames of AES-256-GCM under a key that scrypt (RFC 7914) makes of a passphrase. A frame's nonce holds its
number and whether it is the last one (the STREAM construction of Hoang, Reyhanitabar, Rogaway and Vizár, 2015), so that
frames cannot be left out, repeated, exchanged or cut off; the header is authenticated with each. Not encrypted: the
same frames, each with its SHA-256, which tells damage but not forgery.

    header  magic (8) | kind (1: 0 plain, 1 AES-GCM) | log2 of scrypt's N (1) | salt (16) | nonce prefix (7)
    frame   length (4, big-endian; top bit: the last frame) | payload | tag (16) or digest (32)
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable
from typing import BinaryIO, Protocol

from bot.kernel.errors import PermanentError

MAGIC = b"OEBACK1\n"
FRAME = 1 << 20
COST = 15
"""log2 of scrypt's N: 32 MB and about a tenth of a second."""
_MOST_COST = 20
_LAST = 1 << 31
_HEADER = struct.Struct(">8sBB16s7s")
_LENGTH = struct.Struct(">I")


class DamagedBackupError(PermanentError):
    """It is not a whole backup, or the passphrase is not the one that it was made with."""


class _Frames(Protocol):
    overhead: int

    def seal(self, number: int, last: bool, payload: bytes) -> bytes: ...

    def open(self, number: int, last: bool, sealed: bytes) -> bytes: ...


class Writer:
    """A file-like object for writing; `finish` writes the last frame, without which nothing can be read."""

    def __init__(self, file: BinaryIO, passphrase: str | None, cost: int = COST) -> None:
        header = _HEADER.pack(MAGIC, passphrase is not None, cost, os.urandom(16), os.urandom(7))
        self._file = file
        self._frames = _frames(header, passphrase)
        self._number = 0
        self._waiting = bytearray()
        file.write(header)

    def write(self, data: bytes) -> int:
        self._waiting += data
        while len(self._waiting) > FRAME:
            self._frame(bytes(self._waiting[:FRAME]), last=False)
            del self._waiting[:FRAME]
        return len(data)

    def finish(self) -> None:
        self._frame(bytes(self._waiting), last=True)

    def _frame(self, payload: bytes, *, last: bool) -> None:
        sealed = self._frames.seal(self._number, last, payload)
        self._file.write(_LENGTH.pack(len(payload) | (_LAST if last else 0)))
        self._file.write(sealed)
        self._number += 1


def must_be_one(file: BinaryIO) -> None:
    """Raises `DamagedBackupError` for what does not even begin like a backup."""
    _header(file)


def _header(file: BinaryIO) -> bytes:
    header = file.read(_HEADER.size)
    if len(header) < _HEADER.size or not header.startswith(MAGIC):
        raise DamagedBackupError("this is not a backup")
    return header


class Reader:
    """A file-like object for reading. Raises `DamagedBackupError` as soon as something is not as it was written; what
    was read before the end was reached is not to be trusted."""

    def __init__(self, file: BinaryIO, passphrase: Callable[[], str | None]) -> None:
        """`passphrase` is asked only if the file is encrypted."""
        header = _header(file)
        self._file = file
        self._frames = _frames(header, passphrase() if header[len(MAGIC)] else None)
        self._number = 0
        self._waiting = b""
        self.ended = False

    def read(self, size: int = -1) -> bytes:
        parts = [self._waiting]
        found = len(self._waiting)
        while not self.ended and (size < 0 or found < size):
            parts.append(self._frame())
            found += len(parts[-1])
        whole = b"".join(parts)
        cut = len(whole) if size < 0 else size
        self._waiting = whole[cut:]
        return whole[:cut]

    def _frame(self) -> bytes:
        prefix = self._file.read(_LENGTH.size)
        if len(prefix) < _LENGTH.size:
            raise DamagedBackupError("the backup ends too early")
        (length,) = _LENGTH.unpack(prefix)
        last, length = bool(length & _LAST), length & ~_LAST
        if length > FRAME:
            raise DamagedBackupError("the backup is damaged")
        sealed = self._file.read(length + self._frames.overhead)
        if len(sealed) < length + self._frames.overhead:
            raise DamagedBackupError("the backup ends too early")
        payload = self._frames.open(self._number, last, sealed)
        self._number += 1
        if last:
            self.ended = True
            if self._file.read(1):
                raise DamagedBackupError("something stands after the end of the backup")
        return payload


def _frames(header: bytes, passphrase: str | None) -> _Frames:
    _, kind, cost, salt, prefix = _HEADER.unpack(header)
    if kind == 0:
        return _Plain(header)
    if kind != 1 or not 10 <= cost <= _MOST_COST:
        raise DamagedBackupError("this backup was made by a later version of this program")
    if passphrase is None:
        raise PermanentError("the backup is encrypted: give its passphrase (backup.passphrase)")
    key = hashlib.scrypt(passphrase.encode(), salt=salt, n=1 << cost, r=8, p=1, maxmem=(1 << cost) * 2048, dklen=32)
    return _Encrypted(header, key, prefix)


class _Plain:
    overhead = 32

    def __init__(self, header: bytes) -> None:
        self._header = header

    def seal(self, number: int, last: bool, payload: bytes) -> bytes:
        return payload + self._digest(number, last, payload)

    def open(self, number: int, last: bool, sealed: bytes) -> bytes:
        payload, digest = sealed[: -self.overhead], sealed[-self.overhead :]
        if digest != self._digest(number, last, payload):
            raise DamagedBackupError("the backup is damaged")
        return payload

    def _digest(self, number: int, last: bool, payload: bytes) -> bytes:
        return hashlib.sha256(self._header + struct.pack(">I?", number, last) + payload).digest()


class _Encrypted:
    overhead = 16

    def __init__(self, header: bytes, key: bytes, prefix: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        self._cipher = AESGCM(key)
        self._header = header
        self._prefix = prefix

    def seal(self, number: int, last: bool, payload: bytes) -> bytes:
        return self._cipher.encrypt(self._nonce(number, last), payload, self._header)

    def open(self, number: int, last: bool, sealed: bytes) -> bytes:
        from cryptography.exceptions import InvalidTag

        try:
            return self._cipher.decrypt(self._nonce(number, last), sealed, self._header)
        except InvalidTag as error:
            what = "the passphrase is wrong, or the backup is damaged" if number == 0 else "the backup is damaged"
            raise DamagedBackupError(what) from error

    def _nonce(self, number: int, last: bool) -> bytes:
        return self._prefix + struct.pack(">I?", number, last)
