"""Other processes that write to a store: `python -m tests.contracts.store.workers OPENER ADDRESS`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from lore.types import EmbeddedDocument

from tests.contracts.store.entries import (
    make_entry,
    open_named,
)


def rewritten(stage: int) -> list[EmbeddedDocument]:
    """Twelve documents that differ from stage to stage and share some chunks."""
    return [
        make_entry(
            f"d{number}",
            [
                "kept",
                *(f"stage {stage} passage {position} of {number}" for position in range(1 + (stage + number) % 4)),
            ],
            fingerprint=f"stage {stage}",
        )
        for number in range(12)
    ]


def fresh(number: int) -> list[EmbeddedDocument]:
    """Documents that no earlier number has."""
    return [make_entry(f"fresh {number} {copy}", [f"passage {copy}"]) for copy in range(6)]


STAGES = [{entry.document.id: entry.chunks for entry in rewritten(stage)} for stage in range(4)]


class Workers:
    """Processes that each keep the store open and write on command."""

    def __init__(self, opener: str, address: str, count: int) -> None:
        command = [sys.executable, "-m", "tests.contracts.store.workers", opener, address]
        self._processes = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(count)
        ]

    def __enter__(self) -> Workers:
        self.wait_all()  # each says that it has opened the store
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.communicate()

    def tell(self, worker: int, command: str) -> None:
        stdin = self._processes[worker].stdin
        assert stdin is not None
        stdin.write(command + "\n")
        stdin.flush()

    def wait(self, worker: int) -> None:
        stdout = self._processes[worker].stdout
        assert stdout is not None
        assert stdout.readline() == "done\n"

    def tell_all(self, command: str) -> None:
        for worker in range(len(self._processes)):
            self.tell(worker, command)

    def wait_all(self) -> None:
        for worker in range(len(self._processes)):
            self.wait(worker)

    def kill(self, worker: int) -> None:
        self._processes[worker].kill()
        self._processes[worker].wait()


def work(opener: str, address: str, commands: Iterator[str]) -> None:
    """Execute lines: "rewrite 2" writes the documents of that stage, "fresh 2" new ones, "slowly 2" one by one."""
    store = open_named(opener, address)
    store.count()
    print("done", flush=True)
    for command in commands:
        kind, number = command.split()
        if kind == "slowly":
            print("done", flush=True)
            for entry in rewritten(int(number)):
                store.replace([entry])
        else:
            store.replace(fresh(int(number)) if kind == "fresh" else rewritten(int(number)))
            print("done", flush=True)


if __name__ == "__main__":
    work(sys.argv[1], sys.argv[2], iter(sys.stdin))
