"""Which runs go on at the same time."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

#: Between two looks at whether a turn is still wanted, s.
LOOK_S = 0.2


class Turns:
    """At most a number of them at a time, in the order in which they ask; what runs in real time runs alone."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._going = 0
        self._is_alone = False
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

    @property
    def waiting(self) -> int:
        """How many wait for one."""
        return len(self._waiting)

    def take(self, *, alone: bool, is_wanted: Callable[[], bool]) -> bool:
        """Waits for a turn; False if it is not wanted any more."""
        mine = object()
        with self._changed:
            self._waiting.append(mine)
            try:
                while is_wanted():
                    room = 1 if alone or self._is_alone else self._most
                    if self._waiting[0] is mine and self._going < room:
                        self._going += 1
                        self._is_alone = alone
                        return True
                    self._changed.wait(LOOK_S)
                return False
            finally:
                self._waiting.remove(mine)
                self._changed.notify_all()

    def leave(self) -> None:
        """Gives it back."""
        with self._changed:
            self._going -= 1
            self._is_alone = False
            self._changed.notify_all()
