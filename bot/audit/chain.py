"""The keyed chain: pure. Each row's hash covers the row and the hash before it under a key that is not in the
database, so that rows cannot be changed, dropped or added by someone who holds the file alone.

hash(n) = HMAC-SHA256(key, hash(n-1) ‖ 0x00 ‖ canonical JSON of row n). A text is covered by
HMAC-SHA256(salt, text), whose salt stands beside the text: erased together, they leave a mac that nobody can test
guesses against.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Mapping
from pathlib import Path

from bot.kernel.errors import PermanentError

GENESIS = "0" * 64
KEY_BYTES = 32


def row_hash(key: bytes, previous: str, row: Mapping[str, object]) -> str:
    """`row`: id, at (microseconds), type, actor_kind, actor, session_id, turn_id, payload, content_id, content_mac."""
    canonical = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return hmac.new(key, previous.encode() + b"\0" + canonical, hashlib.sha256).hexdigest()


def text_mac(salt: bytes, text: str) -> str:
    return hmac.new(salt, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()


def load_key(path: Path) -> bytes:
    """Read the chain's key, or make it on the first start. Raises `PermanentError` if it is not a key."""
    try:
        key = path.read_bytes()
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        key = os.urandom(KEY_BYTES)
        descriptor = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(key)
            file.flush()
            os.fsync(file.fileno())
        return key
    if len(key) != KEY_BYTES:
        raise PermanentError(f"{path} is not an audit key ({len(key)} bytes, expected {KEY_BYTES}): restore it")
    return key
