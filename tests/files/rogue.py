"""Parsers that misbehave on purpose. They run in the child only."""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path
from typing import BinaryIO

from bot.files.wire import Arguments, Output


def loop(_data: bytes, _arguments: Arguments) -> Output:
    while True:
        pass


def hang(_data: bytes, _arguments: Arguments) -> Output:
    signal.pause()
    raise AssertionError


def fork_and_hang(_data: bytes, _arguments: Arguments) -> Output:
    os.fork()
    signal.pause()
    raise AssertionError


def hog(_data: bytes, _arguments: Arguments) -> Output:
    held = []
    while True:
        held.append(bytearray(16 * 1024 * 1024))


def recurse(data: bytes, arguments: Arguments) -> Output:
    return recurse(data, arguments)


def fault(_data: bytes, _arguments: Arguments) -> Output:
    raise LookupError("words of the file")


def abort(_data: bytes, _arguments: Arguments) -> Output:
    os.abort()


def flood(_data: bytes, _arguments: Arguments) -> Output:
    while True:
        os.write(1, b"x" * 65536)


def big(_data: bytes, arguments: Arguments) -> Output:
    return Output({}, b"x" * arguments["size"])


def lie(_data: bytes, _arguments: Arguments) -> Output:
    os.write(1, b'{"ok":true,"facts":{"pages":[1]},"size":0}\n')
    os._exit(0)


def half(_data: bytes, _arguments: Arguments) -> Output:
    os.write(1, b'{"ok":true,"facts":{},"size":100}\nonly this')
    os._exit(0)


def not_utf8(_data: bytes, _arguments: Arguments) -> Output:
    return Output({"note": ""}, b"\xff\xfe\xfd")


def html_as_picture(_data: bytes, _arguments: Arguments) -> Output:
    return Output({"media_type": "image/png", "width": 10, "height": 10}, b"<!doctype html>")


def look_around(data: bytes, _arguments: Arguments) -> Output:
    """What a parser that was taken over could reach. `data` is a path to try to read."""
    outcomes = {
        "environment": ",".join(sorted(os.environ)),
        "descriptors": ",".join(str(each) for each in range(3, 30) if _is_open(each)),
        "folder": ",".join(os.listdir()) if _try(os.listdir) == "done" else "denied",
        "read": _try(lambda: Path(data.decode()).read_bytes()),
        "write": _try(lambda: Path("new.txt").write_bytes(b"x")),
        "connect": _try(lambda: socket.create_connection(("127.0.0.1", _arguments["port"]), timeout=2).close()),
        "datagram": _try(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))),
        "signal": _try(lambda: os.kill(_arguments["parent"], 0)),
        "asyncio": str("asyncio" in sys.modules),
    }
    return Output({key: str(value) for key, value in outcomes.items()}, b"")


def look_at_own_file(file: BinaryIO, _arguments: Arguments) -> Output:
    """What can be done with a file that was handed over open."""
    descriptor = file.fileno()
    outcomes = {
        "content": file.read().decode(),
        "write": _try(lambda: os.write(descriptor, b"x")),
        "again": _try(lambda: os.close(os.open(f"/proc/self/fd/{descriptor}", os.O_RDWR))),
        "others": ",".join(str(each) for each in range(3, 30) if each != descriptor and _is_open(each)),
    }
    return Output(dict(outcomes.items()), b"")


def _try(action: object) -> str:
    try:
        if callable(action):
            action()
    except OSError as error:
        return type(error).__name__
    return "done"


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
