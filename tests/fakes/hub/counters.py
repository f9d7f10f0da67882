"""What the Hub has seen: for tests that assert 'exactly one download' or 'no connection at all'."""

import threading
from collections import Counter, deque

_LOG_LENGTH_MAX = 20_000


class Counters:
    def __init__(self):
        self._lock = threading.Lock()
        self._clear()

    def _clear(self) -> None:
        self._connections: Counter = Counter()
        self._kinds: Counter = Counter()
        self._paths: Counter = Counter()
        self._statuses: Counter = Counter()
        self._misbehaved: Counter = Counter()
        self._bytes = 0
        self._log: deque = deque(maxlen=_LOG_LENGTH_MAX)
        self._leaks: list = []

    def reset(self) -> None:
        with self._lock:
            self._clear()

    def connected(self, role: str) -> None:
        with self._lock:
            self._connections[role] += 1

    def misbehaved(self, name: str) -> None:
        with self._lock:
            self._misbehaved[name] += 1

    def leaked(self, role: str, path: str) -> None:
        """A listener that must never see a token has seen one."""
        with self._lock:
            self._leaks.append({"listener": role, "path": path})

    def answered(self, record: dict) -> dict:
        """`record` has listener, method, target, kind, status, bytes, range, authorization."""
        with self._lock:
            self._kinds[record["kind"]] += 1
            self._paths[f"{record['method']} {record['target'].partition('?')[0]}"] += 1
            self._statuses[str(record["status"])] += 1
            self._log.append(record)
        return record

    def sent(self, record: dict, count: int) -> None:
        """How many bytes the answer had, known once it is sent or given up."""
        with self._lock:
            record["bytes"] = count
            self._bytes += count

    def snapshot(self) -> dict:
        with self._lock:
            return {
                "connections": dict(self._connections),
                "connections_total": sum(self._connections.values()),
                "requests_total": sum(self._kinds.values()),
                "kinds": dict(self._kinds),
                "paths": dict(self._paths),
                "statuses": dict(self._statuses),
                "misbehaved": dict(self._misbehaved),
                "bytes_sent": self._bytes,
                "token_leaks": list(self._leaks),
            }

    def requests(self) -> list:
        with self._lock:
            return [dict(record) for record in self._log]
