"""Checks of this machine: Python, packages, Airflow, and the files and folders that the settings name."""

from __future__ import annotations

import re
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from uuid import uuid4

from lore.declarations import load_access, load_assistant, load_declarations
from lore.doctor.finding import Finding
from lore.settings import Settings

MINIMUM_PYTHON = (3, 11)
PACKAGES = ("lancedb", "onnxruntime", "tokenizers", "pydantic")
OPTIONAL = ("weaviate-client", "openai", "cohere", "langchain", "slack-bolt")
AIRFLOW_SERIES = "3.3."
MOUNTS = Path("/proc/self/mounts")
NETWORK_FILE_SYSTEMS = frozenset(("nfs", "nfs4", "cifs", "smb3", "9p", "afs", "ceph", "lustre", "fuse.sshfs"))


def check_python() -> Finding:
    """Check the version of Python."""
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < MINIMUM_PYTHON:
        return Finding("python", "problem", f"{found} is too old", "Install Python 3.11 or newer.")
    return Finding("python", "ok", found)


def check_packages() -> Finding:
    """Check that the required packages are installed."""
    found = {name: _version(name) for name in (*PACKAGES, *OPTIONAL)}
    missing = [name for name in PACKAGES if found[name] is None]
    if missing:
        return Finding(
            "packages", "problem", f"not installed: {', '.join(missing)}", f"Run: pip install {' '.join(missing)}"
        )
    return Finding("packages", "ok", ", ".join(f"{name} {number}" for name, number in found.items() if number))


def check_airflow() -> Finding:
    """Check the version of Airflow; the command line works without it."""
    found = _version("apache-airflow")
    if found is None:
        return Finding(
            "airflow",
            "skipped",
            "not installed; only the DAGs need it",
            "Run: pip install 'lore-assistant[airflow]'",
        )
    if not found.startswith(AIRFLOW_SERIES):
        return Finding(
            "airflow", "warning", f"{found}; the DAGs are made for {AIRFLOW_SERIES}x", "Install apache-airflow 3.3."
        )
    return Finding("airflow", "ok", found)


def _by_line(message: str) -> str:
    """Return a declaration's mistakes, which are joined by semicolons, each on a line of its own."""
    return re.sub(r"; (?=line \d+: )", "\n  ", message)


def check_declarations(folder: Path) -> Finding:
    """Check that every declaration is valid."""
    declarations = load_declarations(folder)
    if declarations.broken:
        many = len(declarations.broken) > 1
        return Finding(
            "declarations",
            "problem",
            "\n".join(
                f"{_by_line(error.message)} {error.remedy}".rstrip() if many else _by_line(error.message)
                for error in declarations.broken
            ),
            "" if many else declarations.broken[0].remedy,
        )
    if not declarations.valid:
        return Finding("declarations", "warning", f"none in {folder}", "Declare a source; README.md shows how.")
    return Finding("declarations", "ok", ", ".join(declaration.id for declaration in declarations.valid))


def check_assistant(file: Path) -> Finding:
    """Check the file about the assistant, if there is one."""
    assistant = load_assistant(file)
    if assistant is None:
        return Finding(
            "assistant", "skipped", f"there is no {file.absolute()}: no question is answered from a global context"
        )
    return Finding("assistant", "ok", assistant.name)


def check_access(settings: Settings) -> Finding:
    """Check the file about logins and audiences, if there is one, and that its login has a secret."""
    file = settings.project.access
    access = load_access(file)
    if access is None:
        return Finding("access", "skipped", f"there is no {file.absolute()}: nobody logs in on the web page")
    if access.login and settings.web.login_secret is None:
        return Finding(
            "access", "problem", f"{file} declares a login", "Set LORE_WEB_LOGIN_SECRET, its client's secret."
        )
    if access.login and settings.web.session_secret is None:
        return Finding(
            "access", "warning", "a restart ends all logins", "Set LORE_WEB_SESSION_SECRET, the same on every server."
        )
    way = "login by a proxy" if access.proxy else f"login at {access.login.issuer}" if access.login else "no login"
    return Finding("access", "ok", f"{way}, {len(access.groups)} groups with audiences")


def check_staging(uri: str) -> Finding:
    """Check that the staging area can be written and read back."""
    from upath import UPath

    root = UPath(uri)
    existed = root.exists()
    probe = root / f"doctor-{uuid4().hex}"
    try:
        root.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"lore")
        same = probe.read_bytes() == b"lore"
        probe.unlink()
        if not existed:
            root.rmdir()
    except Exception as error:  # every file system has errors of its own
        return Finding("staging", "problem", f"{uri}: {error}", "Make it writable, or set LORE_STAGING_URI.")
    if not same:
        return Finding(
            "staging", "problem", f"{uri} gave back something else than was written", "Set LORE_STAGING_URI."
        )
    return Finding("staging", "ok", uri)


def check_records(settings: Settings, mounts: Path = MOUNTS) -> Finding:
    """Check that the records can be opened and read, are on a local disk, and have not been damaged."""
    from lore.records.sqlite_file import damaged_copies
    from lore.wiring.records import describe_records, records_file

    found, file = describe_records(settings), records_file(settings)
    if file and (copies := damaged_copies(file)):
        detail = f"{found}; damaged ones are kept at {', '.join(map(str, copies))}"
        remedy = "Check the disk. `sqlite3 FILE .recover` prints what is left in a copy; then delete it."
        return Finding("records", "warning", detail, remedy)
    if file and (network := _network_file_system(file, mounts)):
        detail = f"{found}; {file} is on a network file system ({network}), where several machines damage it"
        return Finding("records", "warning", detail, "Set LORE_RECORDS_URL to a local file or to PostgreSQL.")
    return Finding("records", "ok", found)


def _network_file_system(path: Path, mounts: Path) -> str:
    """Return the network file system that a path is on; "" for a local or unknown one."""
    try:
        lines = [line.split() for line in mounts.read_text(encoding="utf-8", errors="replace").splitlines()]
    except OSError:
        return ""
    kinds = {line[1]: line[2] for line in lines if len(line) > 2}  # of two mounts in one place the later one counts
    kind = next((kinds[str(place)] for place in path.absolute().resolve().parents if str(place) in kinds), "")
    return kind if kind in NETWORK_FILE_SYSTEMS else ""


def _version(distribution: str) -> str | None:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None
