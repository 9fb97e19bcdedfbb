"""A tarball as GitHub makes it: gzipped, a comment with the commit, one folder at the top."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping

__all__ = ["tarball"]


def tarball(files: Mapping[str, bytes | str], commit: str = "0123456789abcdef" * 2 + "01234567") -> bytes:
    """The files by path, packed as `git archive` does; the same files give the same bytes."""
    top, out = f"octo-demo-{commit[:7]}", io.BytesIO()
    headers = {"comment": commit}
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT, pax_headers=headers) as tar:
        folders = {top}
        for path in files:
            parts = path.split("/")
            folders |= {"/".join([top, *parts[:length]]) for length in range(1, len(parts))}
        for folder in sorted(folders):
            info = tarfile.TarInfo(folder)
            info.type = tarfile.DIRTYPE
            tar.addfile(info)
        for path, content in sorted(files.items()):
            data = content.encode() if isinstance(content, str) else content
            info = tarfile.TarInfo(f"{top}/{path}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0)
