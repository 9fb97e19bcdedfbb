"""Packages that no command uses but that load with it: skipped, since loading them takes longer than a command.

LanceDB loads the client of its catalog service, 150 pydantic models with their API (.7 s of processor time), and
`overrides`, whose decorators disassemble the code around them (.1 s). pyarrow loads pandas if it is installed (.9 s).
Only the process of the `lore` command does without them; a program that imports lore is not affected.
"""

from __future__ import annotations

import sys
from collections.abc import MutableSequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

__all__ = ["skip_unused_packages"]

PLACEHOLDERS = ("lance_namespace_urllib3_client", "overrides")
PANDAS = "pandas"


def skip_unused_packages() -> None:
    """Replace unused packages in this process; call it before other imports."""
    sys.meta_path.insert(0, _UnusedPackageFinder())


class _Placeholder:
    """A base class that adds nothing, or a decorator that changes nothing."""

    def __new__(cls, *arguments: Any, **_: Any) -> Any:
        is_decorator = cls.__base__ is _Placeholder and len(arguments) == 1 and callable(arguments[0])
        return arguments[0] if is_decorator else super().__new__(cls)


class _PlaceholderModule(ModuleType):
    """A package with any submodule, and a placeholder for any name."""

    __path__: MutableSequence[str] = []  # noqa: RUF012 - as ModuleType declares it

    def __getattr__(self, name: str) -> type:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (_Placeholder,), {"__module__": self.__name__})


class _UnusedPackageFinder(MetaPathFinder, Loader):
    """Finds placeholders, and a pandas that can't be imported."""

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        unused = fullname.partition(".")[0] in (*PLACEHOLDERS, PANDAS)
        return ModuleSpec(fullname, self, is_package=True) if unused else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _PlaceholderModule(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        if module.__name__ == PANDAS:
            raise ModuleNotFoundError("The lore command does without pandas.", name=PANDAS)
