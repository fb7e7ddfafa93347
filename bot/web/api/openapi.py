"""The API as an OpenAPI 3.1 document, made of the operations and their models. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from bot.web.api.model import Problem

if TYPE_CHECKING:
    from bot.web.api.routing import Operation

_REF = "#/components/schemas/{model}"
_PARAMETER = re.compile(r"\{(\w+)\}")
REFUSALS = {
    "400": "what is asked cannot be, whoever asks",
    "401": "no token, or one that does not hold",
    "403": "this person may not do that",
    "404": "no such thing, or none that this person may see",
    "409": "it was changed meanwhile, or cannot move like that from where it stands",
    "413": "the body is too large",
    "415": "the body is not JSON",
    "422": "the request is incomplete or not understood",
    "429": "too many tokens that do not hold",
    "503": "not right now: the store cannot be read or written",
}


def document(operations: Sequence[Operation], version: str) -> dict[str, Any]:
    schemas, components = _schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for each in operations:
        paths.setdefault(f"/api{each.path}", {})[each.method.lower()] = _operation(each, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": "OpenExecutive", "version": version},
        "security": [{"token": []}, {"browser": []}],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "made by `openexecutive token create`"},
                "browser": {
                    "type": "apiKey",
                    "in": "cookie",
                    "name": "oe",
                    "description": "of a browser that is signed in to the console, as `__Host-oe` behind https; what "
                    "changes anything also carries the header `X-CSRF` of its pages",
                },
            },
        },
    }


Schemas = Mapping[Any, Mapping[str, Any]]
"""By model and mode."""


def _schemas(operations: Sequence[Operation]) -> tuple[Schemas, dict[str, Any]]:
    wanted: dict[tuple[type[BaseModel], JsonSchemaMode], None] = {(Problem, "serialization"): None}
    for each in operations:
        wanted[each.answer, "serialization"] = None
        if each.body is not None:
            wanted[each.body, "validation"] = None
    schemas, definitions = models_json_schema(list(wanted), ref_template=_REF)
    return schemas, dict(definitions.get("$defs", {}))


def _operation(of: Operation, schemas: Schemas) -> dict[str, Any]:
    parameters = [
        {"name": name, "in": "path", "required": True, "schema": {"type": "string"}}
        for name in _PARAMETER.findall(of.path)
    ]
    if of.query is not None:
        parameters += _query(of.query)
    answers = {"200": _content(schemas[of.answer, "serialization"], "done")}
    if of.method != "GET":
        answers["202"] = _content(schemas[of.answer, "serialization"], "it waits for a principal's word")
    problem = schemas[Problem, "serialization"]
    answers |= {status: _content(problem, text) for status, text in REFUSALS.items()}
    made: dict[str, Any] = {"operationId": of.name, "summary": of.summary, "responses": answers}
    if parameters:
        made["parameters"] = parameters
    if of.body is not None:
        made["requestBody"] = {
            "required": True,
            "content": {"application/json": {"schema": schemas[of.body, "validation"]}},
        }
    return made


def _query(model: type[BaseModel]) -> list[dict[str, Any]]:
    """Models of queries are flat: their schemas stand where they are used."""
    schema = model.model_json_schema()
    return [
        {"name": name, "in": "query", "required": False, "schema": _inlined(each, schema.get("$defs", {}))}
        for name, each in schema["properties"].items()
    ]


def _inlined(schema: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(schema, dict):
        if "$ref" in schema:
            return _inlined(definitions[schema["$ref"].rpartition("/")[2]], definitions)
        return {name: _inlined(each, definitions) for name, each in schema.items()}
    if isinstance(schema, list):
        return [_inlined(each, definitions) for each in schema]
    return schema


def _content(schema: Mapping[str, Any], description: str) -> dict[str, Any]:
    return {"description": description, "content": {"application/json": {"schema": schema}}}
