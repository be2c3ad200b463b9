"""What is wrong with a request."""

from __future__ import annotations


class RequestError(ValueError):
    """A request that is refused: one line for the user, and the status of HTTP that says so."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status
