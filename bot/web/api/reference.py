"""The API on paper: `docs/openapi.json` and `docs/api.md`, both from the operations (`python -m bot.web.api.reference`
writes them anew)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from bot.orchestrator.clerk import Clerk
from bot.orchestrator.schedule_desk import ScheduleDesk
from bot.web.api import operations
from bot.web.api.memories import Desk
from bot.web.api.openapi import document

DOCS = Path(__file__).resolve().parents[3] / "docs"
VERSION = "1"
"""Of the description; the daemon's own copy tells its version."""

_INTRODUCTION = """# The HTTP API

JSON over the daemon's own server ([settings](settings.md#web)), for programs that act as one person: they see what that
person may see, and may do what that person may do. What they may not see is not there (404).

```sh
openexecutive token create PERSON --days 30    # an id of `openexecutive people list`; prints the token once
curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8321/api/memories?q=launch
```

A browser that is signed in to the [console](console.md) may ask it too; what changes anything then carries the header
`X-CSRF` of the console's pages. Every refusal is a `Problem` with a `code` and a `message` for people, and is audited.
[openapi.json](openapi.json) describes all of this for programs; the daemon serves its own at `/api/openapi.json`. This
page is made from the same models.
"""


def described() -> dict[str, Any]:
    """Nothing is asked of the rooms: the operations are described, not carried out."""
    nothing = cast("Any", None)
    made = operations(
        Desk(nothing, nothing, nothing, nothing),
        Clerk(nothing, nothing, _Described(), "api"),  # type: ignore[arg-type]
        ScheduleDesk(nothing, nothing, nothing, nothing, nothing),
    )
    return document(made, VERSION)


class _Described:
    ledger = None


def reference(of: Mapping[str, Any]) -> str:
    """As Markdown."""
    return "\n".join((_INTRODUCTION, *_operations(of), "## Models\n", *_models(of)))


def _operations(of: Mapping[str, Any]) -> Iterator[str]:
    for path, methods in of["paths"].items():
        for method, each in methods.items():
            yield f"## {method.upper()} {path}\n"
            yield f"{each['summary'][0].upper()}{each['summary'][1:]}.\n"
            asked = [one for one in each.get("parameters", []) if one["in"] == "query"]
            if asked:
                yield "| query | type | |\n|---|---|---|"
                yield from (f"| `{one['name']}` | {_type(one['schema'])} | {_about(one['schema'])} |" for one in asked)
                yield ""
            if "requestBody" in each:
                yield f"Takes {_type(each['requestBody']['content']['application/json']['schema'])}.\n"
            answer = _type(each["responses"]["200"]["content"]["application/json"]["schema"])
            waits = "; 202 where it waits for a principal's word" if "202" in each["responses"] else ""
            yield f"Answers {answer}{waits}.\n"


def _models(of: Mapping[str, Any]) -> Iterator[str]:
    for name, schema in sorted(of["components"]["schemas"].items()):
        yield f"### {name}\n"
        if "enum" in schema:
            yield ", ".join(f"`{each}`" for each in schema["enum"]) + "\n"
            continue
        if about := schema.get("description"):
            yield " ".join(about.split()) + "\n"
        yield "| field | type | |\n|---|---|---|"
        needed = set(schema.get("required", ()))
        for field, each in schema.get("properties", {}).items():
            yield f"| `{field}`{'' if field in needed else ' (optional)'} | {_type(each)} | {_about(each)} |"
        yield ""


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for either in ("anyOf", "oneOf"):
        if either in schema:
            return " or ".join(_type(each) for each in schema[either])
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', schema.get('prefixItems', [{}])[0]))}"
    form = {"date-time": "instant (RFC 3339)", "date": "day"}.get(schema.get("format", ""))
    return str(form or schema.get("type", "anything"))


def _about(schema: Mapping[str, Any]) -> str:
    told = " ".join(str(schema.get("description", "")).split())
    bounds = [f"{word} {schema[key]}" for key, word in _BOUNDS.items() if key in schema]
    return "; ".join((*([told] if told else ()), *bounds)).replace("|", "\\|")


_BOUNDS = {
    "minimum": "at least",
    "maximum": "at most",
    "minLength": "characters, at least",
    "maxLength": "characters, at most",
}


def main() -> None:
    of = described()
    (DOCS / "openapi.json").write_text(json.dumps(of, indent=1, ensure_ascii=False) + "\n")
    (DOCS / "api.md").write_text(reference(of))


if __name__ == "__main__":
    main()
