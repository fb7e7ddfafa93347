"""What DOCX and XLSX share: a zip of XML parts (ISO 29500-2, "Open Packaging Conventions"), opened with distrust.

Straight lxml rather than the usual libraries: parts are read as streams, so that a large file is cut instead of
refused; every part passes one guard; and the child is spared their imports. Both namespaces of the format
(transitional and strict) are read, because elements are told by their local names.

Bounds: the number of members, what they claim to unpack to (`zipfile` never reads past the claim), how far one member
is packed, and what is really unpacked. A document type declaration is refused (ISO 29500-2 forbids it), entities are
never resolved, libxml2's own limits on depth and text stay on.
"""

from __future__ import annotations

import posixpath
import zipfile
import zlib
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple
from urllib.parse import unquote

from lxml.etree import XMLPullParser, XMLSyntaxError, _Element

from bot.files.wire import Reason, Refused

MAX_MEMBERS = 5_000
MAX_CLAIMED = 1024 * 1024 * 1024  # bytes that all members claim together, pictures included
MAX_READ = 256 * 1024 * 1024  # bytes that are really unpacked of one file
MAX_TREE = 32 * 1024 * 1024  # bytes of a part that is held as a whole
MAX_RATIO = 200  # deflate reaches 1,032; real parts stay below 100
_RATIO_FROM = 4 * 1024 * 1024  # small parts may be as empty as they like
_CHUNK = 64 * 1024
_ENTRY = b"PK\x01\x02"
_NO_MEMORY = "ERR_NO_MEMORY"  # names in <libxml/xmlerror.h>
_TOO_DEEP = {"ERR_RESOURCE_LIMIT", "ERR_INTERNAL_ERROR"}

_BOMB = "The document unpacks to more than can be read."
_DAMAGED = "The document is damaged and could not be opened."


class Relation(NamedTuple):
    """`kind` is the last word of the relationship's type; `target` a part of the package, or an address if external."""

    kind: str
    target: str
    external: bool


class Package:
    """An opened document. Raises `Refused` from every method for what it will not read."""

    def __init__(self, file: BinaryIO) -> None:
        _count_members(file)
        try:
            self._zip = zipfile.ZipFile(file)
            members = self._zip.infolist()
        except (zipfile.BadZipFile, ValueError, OSError, EOFError, NotImplementedError, OverflowError) as error:
            raise Refused(Reason.DAMAGED, _DAMAGED) from error
        if sum(each.file_size for each in members) > MAX_CLAIMED or any(map(_is_packed_too_far, members)):
            raise Refused(Reason.TOO_LARGE, _BOMB)
        # Part names do not tell cases apart (ISO 29500-2 s6.2.2.3). Nothing is ever unpacked to a path.
        self._members = {each.filename.replace("\\", "/").lstrip("/").lower(): each for each in members}
        self._read = 0

    @property
    def has_macros(self) -> bool:
        return any(name.endswith("vbaproject.bin") for name in self._members)

    def __contains__(self, part: str) -> bool:
        return part.lower() in self._members

    def main_part(self, usual: str) -> str:
        """The part that the package calls its document, else `usual`."""
        for relation in self.relations("").values():
            if relation.kind == "officeDocument" and not relation.external:
                return relation.target
        return usual

    def relations(self, part: str) -> dict[str, Relation]:
        """By id, those of `part` ("" for the package itself); empty if it has none."""
        folder, name = posixpath.split(part)
        root = self.tree(posixpath.join(folder, "_rels", name + ".rels"))
        found: dict[str, Relation] = {}
        for node in children(root):
            target = unquote(node.get("Target") or "")
            external = (node.get("TargetMode") or "").lower() == "external"
            if not external:
                target = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
            found[node.get("Id") or ""] = Relation((node.get("Type") or "").rpartition("/")[2], target, external)
        return found

    def related(self, part: str, kind: str) -> str | None:
        """The first part of the package that `part` names under this kind."""
        targets = (each.target for each in self.relations(part).values() if each.kind == kind and not each.external)
        return next(targets, None)

    def tree(self, part: str | None) -> _Element | None:
        """The root of a part that is small enough to be held, or None if there is no such part."""
        if part is None or part not in self:
            return None
        if self._members[part.lower()].file_size > MAX_TREE:
            raise Refused(Reason.TOO_LARGE, _BOMB)
        root: _Element | None = None
        for _, node in self.events(part, ("start", "end")):
            root = node if root is None else root
        return root

    def events(self, part: str, kinds: tuple[str, ...], *names: str) -> Iterator[tuple[str, _Element]]:
        """Parse events of a part as it is unpacked, for elements of these local names (all if none are given).

        The caller drops what it has seen by `forget`: only then does memory stay bounded.
        """
        parser = XMLPullParser(
            events=kinds,  # type: ignore[arg-type]  # the stubs ask for literals
            tag=[f"{{*}}{name}" for name in names] or None,
            resolve_entities=False, no_network=True, load_dtd=False, remove_comments=True, remove_pis=True,
            huge_tree=False,
        )  # fmt: skip
        checked = False
        for chunk in self._chunks(part):
            _feed(parser, chunk)
            for event, node in parser.read_events():
                if not isinstance(node, _Element):  # the kinds asked for have no other
                    continue
                if not checked:
                    checked = True
                    _refuse_declarations(node)
                yield str(event), node
        try:
            parser.close()
        except XMLSyntaxError as error:
            raise _translated(parser) from error

    def _chunks(self, part: str) -> Iterator[bytes]:
        member = self._members.get(part.lower())
        if member is None:
            raise Refused(Reason.DAMAGED, "The document is incomplete: a part of it is missing.")
        if member.flag_bits & 1:
            raise Refused(
                Reason.ENCRYPTED, "The document is protected with a password; please send a copy without one."
            )
        if member.compress_type not in {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}:  # ISO 29500-2 annex B
            raise Refused(Reason.DAMAGED, _DAMAGED)
        try:
            with self._zip.open(member) as stream:
                while chunk := stream.read(_CHUNK):
                    self._read += len(chunk)
                    if self._read > MAX_READ:
                        raise Refused(Reason.TOO_LARGE, _BOMB)
                    yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
            raise Refused(Reason.DAMAGED, "The document is damaged; a part of it could not be unpacked.") from error


def local(node: _Element) -> str:
    """The element's name without its namespace; empty for what is no element (an entity)."""
    tag: object = node.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def value(node: _Element | None, name: str = "val") -> str | None:
    """An attribute in the element's own namespace, as WordprocessingML has them."""
    if node is None:
        return None
    return node.get(str(node.tag).rpartition("}")[0] + "}" + name)


def child(node: _Element | None, *path: str) -> _Element | None:
    """The first child of each local name in turn."""
    for name in path:
        if node is None:
            return None
        node = next((each for each in node if local(each) == name), None)
    return node


def children(node: _Element | None) -> Iterator[_Element]:
    """The elements in it; nothing if it is not there."""
    yield from () if node is None else node


def is_on(node: _Element | None) -> bool:
    """A switch (ISO 29500-1, ST_OnOff): there, and not set to off."""
    return node is not None and (value(node) or "1").lower() not in {"0", "false", "off"}


def number(text: str | None, default: int = 0) -> int:
    """A small decimal number; anything else is `default`."""
    digits = (text or "").strip()
    return int(digits) if digits.lstrip("-").isdecimal() and len(digits) <= 10 and digits.count("-") < 2 else default


def forget(node: _Element) -> None:
    """Free an element that was read, and its elder siblings. The element itself stays: the parser may yet touch it."""
    node.clear()
    parent = node.getparent()
    while parent is not None and node.getprevious() is not None:
        del parent[0]


def _count_members(file: BinaryIO) -> None:
    """Before `zipfile` makes an object of each: entries counted by their signature, whatever the file claims."""
    count, tail = 0, b""
    file.seek(0)
    while chunk := file.read(1024 * 1024):
        block = tail + chunk
        count += block.count(_ENTRY)
        if count > MAX_MEMBERS:
            raise Refused(Reason.TOO_LARGE, "The document has more parts than can be read.")
        tail = block[-3:]
    file.seek(0)


def _is_packed_too_far(member: zipfile.ZipInfo) -> bool:
    return member.file_size > _RATIO_FROM and member.file_size > MAX_RATIO * max(1, member.compress_size)


def _feed(parser: XMLPullParser, chunk: bytes) -> None:
    try:
        parser.feed(chunk)
    except XMLSyntaxError as error:
        raise _translated(parser) from error


def _translated(parser: XMLPullParser) -> Exception:
    problems = {entry.type_name for entry in parser.error_log}
    if _NO_MEMORY in problems:
        return MemoryError()
    if problems & _TOO_DEEP:
        return Refused(Reason.DAMAGED, "The document is nested too deeply, or a single piece of it is too long.")
    return Refused(Reason.DAMAGED, "The document is damaged; a part of it is not well-formed.")


def _refuse_declarations(node: _Element) -> None:
    # libxml2 has no tree before the first element, so nothing was read of the document by now.
    if node.getroottree().docinfo.internalDTD is not None:
        raise Refused(
            Reason.DAMAGED, "The document declares entities, which no Office program writes; it was not read."
        )
