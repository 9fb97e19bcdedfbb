"""Where the bench's stores lie: by name, a folder or a server over a folder, as settings that open them."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.servers.weaviate import Process


@dataclass(frozen=True)
class Place:
    """An index to measure: the settings that open it, the folder of its data, and its server's process, if any."""

    environment: Mapping[str, str]
    data: Path
    server: int | None = None


class Server(Process):
    """A server whose process can be watched."""

    @property
    def pid(self) -> int:
        """The id of its process, once started."""
        assert self._process
        return self._process.pid


@contextmanager
def lancedb(folder: Path) -> Iterator[Place]:
    """An index in the folder."""
    yield Place({"LORE_STORE": "lancedb", "LORE_INDEX_URI": str(folder)}, folder)


@contextmanager
def weaviate(folder: Path) -> Iterator[Place]:
    """A server over the folder, for as long as the block lasts."""
    program = shutil.which("weaviate")
    if program is None:
        sys.exit("There is no program `weaviate` on PATH.")
    folder.mkdir(parents=True, exist_ok=True)
    process = Server(program, folder, {})
    process.start()
    environment = {
        "LORE_STORE": "weaviate",
        "LORE_WEAVIATE_URL": process.address.url,
        "LORE_WEAVIATE_GRPC_PORT": str(process.address.grpc_port),
        "LORE_WEAVIATE_API_KEY": process.address.api_key,
    }
    try:
        yield Place(environment, folder, process.pid)
    finally:
        process.stop()


STORES: dict[str, Callable[[Path], AbstractContextManager[Place]]] = {"lancedb": lancedb, "weaviate": weaviate}
