"""No module imports, even for a type or within a function, one that imports it."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "python/sojourn"


def imports() -> dict[str, set[str]]:
    """Modules of the package, and those that each imports anywhere in its text."""
    files = {
        ".".join(file.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__"): file
        for file in (*PACKAGE.rglob("*.py"), *PACKAGE.rglob("*.pyi"))
    }
    found: dict[str, set[str]] = {}
    for name, file in files.items():
        found[name] = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found[name] |= {one.name for one in node.names} & files.keys()
            elif isinstance(node, ast.ImportFrom) and node.module in files:
                wanted = {f"{node.module}.{one.name}" for one in node.names}
                found[name] |= (wanted & files.keys()) or {node.module}
    return found


def test_no_module_imports_itself_by_way_of_others() -> None:
    found = imports()
    assert {"sojourn.results", "sojourn._core"} <= found["sojourn"]
    try:
        TopologicalSorter(found).prepare()
    except CycleError as error:
        raise AssertionError(" <- ".join(error.args[1])) from None
