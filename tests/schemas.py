"""The JSON contract of the command line: docs/schema/*.json."""

import json
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator
from referencing import Registry, Resource

SCHEMAS = Path(__file__).parents[1] / "docs" / "schema"


def check_schema(name: str, data: Any) -> None:
    """Raise jsonschema's ValidationError unless ``data`` is what docs/schema/NAME says."""
    contents = {path.name: json.loads(path.read_text("utf-8")) for path in SCHEMAS.glob("*.json")}
    # They refer to each other by file name, which resolves against their $id.
    resources = [(schema["$id"], Resource.from_contents(schema)) for schema in contents.values()]
    registry: Registry[Any] = Registry().with_resources(resources)
    Draft202012Validator.check_schema(contents[name])
    Draft202012Validator(contents[name], registry=registry).validate(data)
