"""What a request asks for, out of its JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sojourn.serve.errors import RequestError


class Asked:
    """An object of known keys; what is of another kind is a `RequestError` that names the key."""

    def __init__(self, body: bytes, *keys: str) -> None:
        try:
            document = json.loads(body)
        except (ValueError, RecursionError) as error:
            raise RequestError(f"expected JSON ({error})") from None
        if not isinstance(document, dict):
            raise RequestError("expected a JSON object")
        if unknown := document.keys() - set(keys):
            raise RequestError(f"{min(unknown)}: unknown key; valid: {', '.join(keys)}")
        self._values: Mapping[str, object] = document

    def has(self, key: str) -> bool:
        """Whether the key is there."""
        return self._values.get(key) is not None

    def text(self, key: str, default: str | None = None) -> str:
        """A text, which has to be there without a default."""
        value = self._values.get(key, default)
        if not isinstance(value, str):
            raise RequestError(f"{key}: expected a text")
        return value

    def flag(self, key: str) -> bool:
        """True or false; false where it is absent."""
        value = self._values.get(key, False)
        if not isinstance(value, bool):
            raise RequestError(f"{key}: expected true or false")
        return value

    def count(self, key: str, most: int) -> int:
        """A number from 1 to `most`; 1 where it is absent."""
        value = self._values.get(key, 1)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= most:
            raise RequestError(f"{key}: expected a number from 1 to {most}")
        return value

    def overrides(self) -> dict[str, str]:
        """Pairs of dotted names and values, as `--set` has them."""
        pairs = self._values.get("overrides") or []
        if not isinstance(pairs, list) or not all(
            isinstance(pair, list) and len(pair) == 2 and all(isinstance(part, str) for part in pair) for pair in pairs
        ):
            raise RequestError('overrides: expected pairs of texts, such as [["link.bneck.rate", "100Mbit"]]')
        return dict(pairs)
