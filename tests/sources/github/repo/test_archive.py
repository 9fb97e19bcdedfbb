"""The tarball of a repository: what may be read from it, and what a hostile one cannot do."""

from __future__ import annotations

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterable

import pytest
from lore.errors import SourceError
from lore.sources.github.repo.archive import RepositoryArchive, TruncatedArchiveError

from tests.servers.github_tarball import tarball

LIMIT = 1_000_000


def member(name: str, data: bytes = b"", **more: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in more.items():
        setattr(info, key, value)
    return info, data


def packed(members: Iterable[tuple[tarfile.TarInfo, bytes]], format_number: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=format_number, errors="surrogateescape") as tar:
        for info, data in members:
            tar.addfile(info, io.BytesIO(data))
    return gzip.compress(out.getvalue(), mtime=0)


def pieces(data: bytes, size: int = 1000) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def test_files_are_read_at_any_place():
    files = {f"docs/{n}.md": b"%d " % n * n * 50 for n in range(40)} | {"a/" * 60 + "deep.md": b"deep", "empty.md": b""}
    with RepositoryArchive(pieces(tarball(files)), max_bytes=LIMIT) as archive:
        assert archive.paths() == sorted(files)
        assert all(archive.read(path) == files[path] for path in reversed(archive.paths()))
        assert archive.read("docs/39.md", 3) == b"39 "
        assert archive.size("docs/39.md") == len(files["docs/39.md"])
        assert "docs/1.md" in archive
        assert "docs" not in archive


def test_only_plain_files_below_the_top_folder_are_seen():
    top = "octo-demo-1234567"
    members = [
        member(top, type=tarfile.DIRTYPE),
        member(f"{top}/docs", type=tarfile.DIRTYPE),
        member(f"{top}/docs/good.md", b"good"),
        member(f"{top}/link.md", type=tarfile.SYMTYPE, linkname="/etc/passwd"),
        member(f"{top}/hard.md", type=tarfile.LNKTYPE, linkname=f"{top}/docs/good.md"),
        member(f"{top}/tty", type=tarfile.CHRTYPE),
        member(f"{top}/disk", type=tarfile.BLKTYPE),
        member(f"{top}/pipe", type=tarfile.FIFOTYPE),
        member(f"{top}/../../outside.md", b"no"),
        member(f"{top}/a/../b.md", b"no"),
        member("/etc/cron.d/evil.md", b"no"),
        member("no-folder.md", b"no"),
    ]
    with RepositoryArchive([packed(members)], max_bytes=LIMIT) as archive:
        assert archive.paths() == ["docs/good.md"]
        assert archive.read("docs/good.md") == b"good"
        assert archive.skipped == 9


@pytest.mark.parametrize("format_number", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
def test_names_that_are_not_utf8_keep_their_bytes(format_number):
    name = b"top/caf\xe9.md".decode("utf-8", "surrogateescape")
    with RepositoryArchive([packed([member(name, b"x")], format_number)], max_bytes=LIMIT) as archive:
        assert archive.paths() == [b"caf\xe9.md".decode("utf-8", "surrogateescape")]


def test_a_bomb_ends_at_the_limit():
    bomb = gzip.compress(bytes(60_000_000), mtime=0)
    assert len(bomb) < 100_000
    with pytest.raises(SourceError, match="contains more than 1,000,000") as caught:
        RepositoryArchive([bomb], max_bytes=LIMIT)
    assert "max_total_bytes" in caught.value.remedy


def test_an_archive_cut_anywhere_is_never_taken_for_whole():
    whole = tarball({f"{n}.md": bytes(range(256)) * 3 for n in range(20)})
    for end in range(0, len(whole), 7):
        with pytest.raises(TruncatedArchiveError):
            RepositoryArchive([whole[:end]], max_bytes=LIMIT)


def test_a_tar_that_ends_before_its_end_is_cut_though_the_gzip_is_whole():
    raw = gzip.decompress(tarball({f"{n}.md": b"x" * 700 for n in range(5)}))
    for end in range(0, len(raw) - 10_240, 256):
        with pytest.raises(TruncatedArchiveError):
            RepositoryArchive([gzip.compress(raw[:end], mtime=0)], max_bytes=LIMIT)


def test_a_broken_header_in_the_middle_is_not_the_end():
    raw = bytearray(gzip.decompress(packed([member(f"top/{n}.md", b"x" * 100) for n in range(5)])))
    raw[3 * 1024 + 20] ^= 0xFF
    with pytest.raises(TruncatedArchiveError):
        RepositoryArchive([gzip.compress(raw, mtime=0)], max_bytes=LIMIT)


def test_damaged_bytes_are_seen():
    whole = bytearray(tarball({"a.md": bytes(range(256)) * 40}))
    whole[len(whole) // 2] ^= 0xFF
    with pytest.raises(TruncatedArchiveError):
        RepositoryArchive([bytes(whole)], max_bytes=LIMIT)


@pytest.mark.parametrize("kind", [b"x", b"g", b"L", b"K"])
@pytest.mark.parametrize("size", [500_000_000, 8 * 1024**3, -512])
def test_a_header_that_claims_to_be_large_is_not_read(kind, size):
    info = tarfile.TarInfo("top/a.md")
    info.type, info.size = kind, size
    header = info.tobuf(tarfile.GNU_FORMAT)
    with pytest.raises(TruncatedArchiveError):
        RepositoryArchive([gzip.compress(header + bytes(4096), mtime=0)], max_bytes=LIMIT)


def test_a_header_that_is_large_is_not_read_though_it_is_there():
    info = tarfile.TarInfo("top/a.md")
    info.pax_headers = {"comment": "x" * 3_000_000}
    with pytest.raises(TruncatedArchiveError, match="claims to have"):
        RepositoryArchive([packed([(info, b"")])], max_bytes=10_000_000)


def test_headers_that_follow_each_other_without_end_are_an_error():
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 512
    with pytest.raises(TruncatedArchiveError):
        RepositoryArchive(
            [gzip.compress((info.tobuf(tarfile.GNU_FORMAT) + b"a" * 512) * 900, mtime=0)], max_bytes=LIMIT
        )


@pytest.mark.parametrize(
    "data", [b"", b"<html>not found</html>", zlib.compress(b"x" * 2000), gzip.compress(b"", mtime=0)]
)
def test_what_is_no_archive_is_an_error(data):
    with pytest.raises(SourceError):
        RepositoryArchive([data], max_bytes=LIMIT)


def test_an_archive_in_several_parts_of_gzip_is_whole():
    raw = gzip.decompress(tarball({"a.md": b"a" * 5000, "b.md": b"b" * 5000}))
    split = gzip.compress(raw[:4000], mtime=0) + gzip.compress(raw[4000:], mtime=0) + bytes(64)
    with RepositoryArchive(pieces(split, 97), max_bytes=LIMIT) as archive:
        assert archive.read("b.md") == b"b" * 5000


def test_of_two_files_with_one_name_the_last_counts():
    members = [member("top/a.md", b"first"), member("top/a.md", b"second")]
    with RepositoryArchive([packed(members)], max_bytes=LIMIT) as archive:
        assert archive.read("a.md") == b"second"
