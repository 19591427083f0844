"""An engine without a cluster."""

import threading
import time
from collections.abc import Sequence
from typing import Any

from boulevard._shards import Lost, Report, ShardWorker, read_block


class ThreadEngine:
    """Shards in this process, a thread each: for tests, and to see what a cluster would do. Workers can be killed."""

    def __init__(self, blocks: list[tuple[Any, Any, Any]], groups: list[list[int]], delay: float = 0.0) -> None:
        self.partitions = blocks
        self._groups = groups
        self.delay = delay
        self.workers: dict[int, ShardWorker] = {}
        self.launched = 0
        self.due: dict[int, float] = {}
        self.reports: list[Report] = []
        self.calls = 0
        self.kill_at: dict[int, list[int]] = {}
        self._of: dict[int, int] = {}
        self.device = "cpu"

    def groups(self) -> list[list[int]]:
        """As they were given."""
        return self._groups

    def launch(self, shard: int, parts: list[int], single: bool | None) -> int:
        """A worker, which is there after a while."""
        blocks = [read_block(part, *self.partitions[part]) for part in parts]
        self.launched += 1
        self.workers[self.launched] = ShardWorker(blocks, 1, single, self.device)
        self.due[self.launched] = time.monotonic() + (self.delay if single is not None else 0.0)
        self._of[self.launched] = shard
        return self.launched

    def ready(self, handle: int) -> bool:
        """Whether the while is over."""
        if handle not in self.workers:
            raise Lost
        return time.monotonic() >= self.due[handle]

    def started(self) -> None:
        """Nothing to let go."""

    def ask(self, handles: Sequence[int], method: str, arguments: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Every worker in a thread of its own."""
        self.calls += 1
        for shard in self.kill_at.get(self.calls, []):
            for handle in [handle for handle in handles if self._of[handle] == shard]:
                self.workers.pop(handle, None)
        answers: list[Any] = [Lost() for _ in handles]

        def one(place: int) -> None:
            worker = self.workers.get(handles[place])
            if worker is not None:
                answers[place] = getattr(worker, method)(*arguments[place])

        threads = [threading.Thread(target=one, args=(place,)) for place in range(len(handles))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return answers

    def report(self, report: Report) -> None:
        """Kept."""
        self.reports.append(report)

    def close(self) -> None:
        """Forgets all workers."""
        self.workers.clear()
