"""The parsing child. Started by path as `python -I -S -B child.py` with an empty environment in an empty folder.

Reads one JSON line and the file from standard input (or the file by a descriptor that it was handed), locks itself
down, imports the one parser that is named, and writes one JSON line and the result to standard output. Nothing else
leaves it; its exit code says nothing.
"""

import sys
from types import TracebackType


def main() -> None:
    import json
    import os

    source = sys.stdin.buffer
    header = json.loads(source.readline(1024 * 1024))
    sys.path.extend(header["path"])  # after the standard library: nothing of a library folder can stand in for it

    from importlib import import_module
    from io import BytesIO

    from bot.files import lockdown, wire

    def answer(framed: bytes) -> None:
        view = memoryview(framed)
        while view:
            view = view[os.write(1, view) :]
        os._exit(0)  # nothing to tidy up, and no library gets a say in it

    def unexpected(kind: type[BaseException], _error: BaseException, _trace: TracebackType | None) -> None:
        # Only the kind of error: its words may be the file's.
        answer(wire.frame_refusal(wire.Reason.CRASHED, kind.__name__))

    sys.excepthook = unexpected
    lockdown.limit(header["memory"], header["cpu"], header["files"])
    protections = lockdown.close_off(header["read"], header["list"])
    try:
        source = os.fdopen(header["file"], "rb") if header["file"] >= 0 else source
        module, _, function = header["entry"].partition(":")
        parse = getattr(import_module(module), function)
        data = source if header["streams"] and header["file"] >= 0 else source.read(header["size"])
        if header["streams"] and isinstance(data, bytes):
            data = BytesIO(data)
        arguments = header["arguments"]
        if header["tell"]:
            arguments = {**arguments, **{each.value: 1 for each in (*protections, lockdown.Protection.LIMITS)}}
        framed = wire.frame_output(parse(data, arguments))
    except wire.Refused as refusal:
        framed = wire.frame_refusal(refusal.reason, refusal.detail)
    except MemoryError:
        lockdown.release_reserve()
        framed = wire.frame_refusal(wire.Reason.OUT_OF_MEMORY, "")
    except RecursionError:
        framed = wire.frame_refusal(wire.Reason.DAMAGED, "The file is nested too deeply to be read.")
    answer(framed)


if __name__ == "__main__":
    main()
