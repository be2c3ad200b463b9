"""The report's JSON Schema as TypeScript, for the lab: `PYTHONPATH=tests python -m test_page` writes both."""

from __future__ import annotations

import json
from typing import Any


def typescript(schema: dict[str, Any]) -> str:
    """A type for each class; what has a default may be absent, as it is in JSON then."""
    types = "".join(_type(name, shape) for name, shape in schema["$defs"].items())
    return f"// Written from docs/page.schema.json by `PYTHONPATH=tests python -m test_page`.\n{types}"


def _type(name: str, shape: dict[str, Any]) -> str:
    required = shape["required"]
    lines = [f"  {key}{'' if key in required else '?'}: {_of(value)};\n" for key, value in shape["properties"].items()]
    about = shape.get("description", "")
    return f"\n/** {about} */\nexport type {name} = {{\n{''.join(lines)}}};\n"


def _of(value: dict[str, Any]) -> str:
    match value:
        case {"$ref": str(reference)}:
            name: str = reference.rpartition("/")[2]
            return name
        case {"enum": [*choices]}:
            return " | ".join(map(json.dumps, choices))
        case {"anyOf": [*choices]}:
            return " | ".join(map(_of, choices))
        case {"prefixItems": [*items]}:
            return f"[{', '.join(map(_of, items))}]"
        case {"type": "array", "items": items}:
            return f"Array<{_of(items)}>"
        case {"type": "object", "additionalProperties": values}:
            return f"Record<string, {_of(values)}>"
        case {"type": "string" | "boolean" | "null" as plain}:
            return str(plain)
        case {"type": "number" | "integer"}:
            return "number"
    raise ValueError(f"no TypeScript for {value}")
