"""How a Bot API call comes over HTTP, and how it is refused: parameters, uploads, `ApiError`.

Pure. Source: Bot API "Making requests"; RFC 7578 for multipart bodies.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message as Headers
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web

JsonObject = dict[str, Any]


class ApiError(Exception):
    """An answer with `ok: false`. `description` has the platform's prefix already."""

    def __init__(self, code: int, description: str, parameters: JsonObject | None = None) -> None:
        super().__init__(description)
        self.code = code
        self.description = description
        self.parameters = parameters


def bad(description: str) -> ApiError:
    return ApiError(400, f"Bad Request: {description}")


@dataclass(frozen=True)
class Upload:
    name: str
    mime: str
    data: bytes


@dataclass(frozen=True)
class Params:
    """The parameters of one call; structured ones are decoded when asked for."""

    values: Mapping[str, str]
    uploads: Mapping[str, Upload] = field(default_factory=dict)

    def text(self, name: str) -> str:
        return self.values.get(name, "")

    def integer(self, name: str) -> int | None:
        value = self.values.get(name)
        if value is None:
            return None
        try:
            return int(value)
        except ValueError:
            raise bad(f"invalid {name} specified") from None

    def flag(self, name: str) -> bool:
        return self.values.get(name, "").lower() in ("true", "1", "yes")

    def structure(self, name: str) -> Any:
        value = self.values.get(name)
        if not value:
            return None
        try:
            return json.loads(value)
        except ValueError:
            raise bad(f"can't parse {name} JSON object") from None

    def plain(self) -> JsonObject:
        """All parameters for the record, structures decoded."""
        shown: JsonObject = {}
        for name, value in self.values.items():
            try:
                shown[name] = json.loads(value) if value[:1] in "[{" and value else value
            except ValueError:
                shown[name] = value
        return shown | {name: {"name": one.name, "size": len(one.data)} for name, one in self.uploads.items()}


def read_params(request: web.BaseRequest, raw: bytes) -> Params:
    """Parameters from the query and the body: url-encoded, JSON or multipart/form-data."""
    values: dict[str, str] = dict(request.query)
    uploads: dict[str, Upload] = {}
    if request.content_type == "application/json" and raw:
        try:
            body = json.loads(raw)
        except ValueError:
            raise bad("can't parse JSON object") from None
        values |= {key: value if isinstance(value, str) else json.dumps(value) for key, value in body.items()}
    elif request.content_type == "application/x-www-form-urlencoded":
        values |= dict(parse_qsl(raw.decode("utf-8", "surrogateescape"), keep_blank_values=True))
    elif request.content_type == "multipart/form-data":
        header = Headers()
        header["Content-Type"] = request.headers["Content-Type"]
        boundary = str(header.get_param("boundary", "")).encode()
        for part, data in _parts(raw, boundary):
            name, file_name = part.get("name", ""), part.get("filename")
            if file_name is None:
                values[name] = data.decode("utf-8", "replace")
            else:
                uploads[name] = Upload(file_name, part["type"], data)
    return Params(values, uploads)


def _parts(raw: bytes, boundary: bytes) -> list[tuple[Mapping[str, str], bytes]]:
    """Parts of a multipart body as (name, filename and type, bytes), RFC 7578."""
    found: list[tuple[Mapping[str, str], bytes]] = []
    for chunk in raw.split(b"--" + boundary)[1:-1]:
        head, _, data = chunk.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        lines = dict(line.decode("utf-8", "replace").split(": ", 1) for line in head.split(b"\r\n") if b": " in line)
        fields = {key.lower(): value for key, value in lines.items()}
        shown = dict(re.findall(r'(name|filename)="([^"]*)"', fields.get("content-disposition", "")))
        shown["type"] = fields.get("content-type", "application/octet-stream")
        found.append((shown, data.removesuffix(b"\r\n")))
    return found
