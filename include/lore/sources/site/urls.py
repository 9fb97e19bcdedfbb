"""The addresses of a site: which ones belong to it, and which ones mean the same page."""

from __future__ import annotations

import fnmatch
import posixpath
import re
from urllib.parse import parse_qsl, quote, urlencode, urljoin, urlsplit

from lore.declarations import SiteDeclaration

__all__ = ["Scope"]

MAX_ADDRESS = 2000
MAX_SEGMENTS = 40
MAX_REPEATS = 3
"""Occurrences of one path segment; more come from relative links that lead deeper into themselves."""

TRACKING = re.compile(
    r"utm_\w+|[gwd]clid|gbraid|wbraid|fbclid|msclkid|yclid|twclid|igshid|mc_[ce]id|mkt_tok|spm|ref_src|_ga|_gl|_hs\w+"
    r"|hsctatracking|pk_\w+|piwik_\w+|mtm_\w+|matomo_\w+|phpsessid|jsessionid|sessionid|replytocom|highlight"
    r"|print|printable|print[-_]?view",
    re.IGNORECASE,
)
"""Parameters for tracking or printing; the page is the same without them."""
PRINT_VALUES = frozenset({"print", "printable"})
SESSION = re.compile(r";jsessionid=[^/]*", re.IGNORECASE)
INDEX = re.compile(r"index\.(?:html?|xhtml|php|aspx?|jsp)", re.IGNORECASE)
START_FILE = re.compile(r"(?:index|default|home)\.(?:html?|xhtml|php|aspx?|jsp)", re.IGNORECASE)
"""File names of a site's first page; elsewhere, `home` and `default` name pages of their own."""
EXCLUDED_PATHS = re.compile(
    r"/(?:_print|print-?view|printable|_sources|_static)(?:/|$)|/(?:genindex|py-modindex)(?:\.html|/?$)", re.IGNORECASE
)
"""Print versions, Sphinx's sources and static files, and word indexes, which have no text of their own."""
VERSION = re.compile(
    r"v?\d+(?:\.(?:\d+|x))*(?:[.-]?(?:dev|alpha|beta|rc|pre|a|b|post)[.-]?\d*)?|latest|stable|current|main|master|trunk"
    r"|dev|devel|develop|development|next|nightly|edge|unstable|canary|preview|head|lts",
    re.IGNORECASE,
)
_DOWNLOADS = (
    "7z avi avif bmp bz2 deb dmg doc docx eot epub exe gif gz ico iso jar jpeg jpg mov mp3 mp4 mpeg msi ogg otf png ppt"
    " pptx rar rpm svg tar tgz tif tiff ttf wasm wav webm webp whl woff woff2 xls xlsx xz zip zst"
)
DOWNLOADS = frozenset(_DOWNLOADS.split())
"""Suffixes of linked files that are never requested; a sitemap that lists one lists a page of that name."""

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_PATH_SAFE = "/%:@!$&'()*+,;=~"
_PORTS = {"http": 80, "https": 443}


class Scope:
    """The declaration's rules for addresses.

    Addresses from this class are absolute and normalized: declared scheme and host, no fragment, no tracking
    parameters.
    """

    def __init__(self, declaration: SiteDeclaration) -> None:
        parts = urlsplit(declaration.url)
        self.host, self._port = _ascii(parts.hostname or ""), parts.port
        self.origin = f"{parts.scheme}://{_netloc(parts.scheme, self.host, parts.port)}"
        path = _path(parts.path)
        self.prefix = (posixpath.dirname(path) if START_FILE.fullmatch(posixpath.basename(path)) else path).rstrip("/")
        self._is_page = bool(re.search(r"\.x?html?$", path, re.IGNORECASE)) or path != self.prefix
        self._start = path
        self._include, self._exclude = _globs(declaration.include), _globs(declaration.exclude)
        self._version = declaration.version
        self._parameters = declaration.query_parameters

    @property
    def starts(self) -> tuple[str, ...]:
        """The addresses to start from: the declared one, first as a folder, which is what most sites have."""
        page = self.origin + (self._start or "/")
        return (page,) if self._is_page or page.endswith("/") else (f"{page}/", page)

    def address(self, reference: str, base: str, *, listed: bool = False) -> str | None:
        """Return the address that a link on the page `base` points to, or None if it is out of scope.

        With `listed`, a sitemap names it, which lists pages only.
        """
        address = self.normal(reference, base)
        return address if address is not None and self._is_in_scope(address, listed) else None

    def normal(self, reference: str, base: str) -> str | None:
        """Return the normalized address, also outside the declared prefix; None for other hosts and schemes."""
        cleaned = re.sub(r"[\t\r\n]", "", reference.strip()).replace("\\", "/")
        try:
            parts = urlsplit(urljoin(base, cleaned))
            port = parts.port
        except ValueError:
            return None
        if parts.scheme not in _PORTS or parts.username is not None or _ascii(parts.hostname or "") != self.host:
            return None
        if (port or _PORTS[parts.scheme]) != (self._port or _PORTS[parts.scheme]):
            return None
        address = self.origin + (_path(parts.path) or "/")
        if query := self._query(parts.query):
            address += f"?{query}"
        return address if len(address) <= MAX_ADDRESS else None

    def key(self, address: str) -> str:
        """Return the key that all addresses of a page share: path and query, without index file and trailing slash."""
        path, mark, query = address.removeprefix(self.origin).partition("?")
        folder, _, name = path.rpartition("/")
        if INDEX.fullmatch(name):
            path = folder
        return (path.rstrip("/") or "/") + mark + query

    def wants(self, address: str) -> bool:
        """Return True if the page is to be indexed; others may be read for their links."""
        return not self._include or any(glob.match(self._relative(address)) for glob in self._include)

    def is_start(self, address: str) -> bool:
        """Return True for the address of the site's first page."""
        return self.key(address) in {
            self.key(start) for start in (*self.starts, f"{self.origin}/", f"{self.origin}{self.prefix}/")
        }

    def _is_in_scope(self, address: str, listed: bool) -> bool:
        path = address.removeprefix(self.origin).partition("?")[0]
        if path != self.prefix and not path.startswith(f"{self.prefix}/"):
            return False
        if not listed and posixpath.splitext(path)[1][1:].lower() in DOWNLOADS:
            return False
        segments = [segment for segment in path.split("/") if segment]
        if len(segments) > MAX_SEGMENTS or any(segments.count(each) > MAX_REPEATS for each in set(segments)):
            return False
        if EXCLUDED_PATHS.search(path) or any(glob.match(self._relative(address)) for glob in self._exclude):
            return False
        return self._version is None or self._is_version(segments)

    def _is_version(self, segments: list[str]) -> bool:
        """Return True if the first segment that looks like a version is the declared one, or there is none."""
        found = next((each for each in segments if each == self._version or VERSION.fullmatch(each)), None)
        return found is None or found == self._version

    def _relative(self, address: str) -> str:
        return address.removeprefix(self.origin).removeprefix(self.prefix).lstrip("/")

    def _query(self, query: str) -> str:
        if not query:
            return ""
        kept = [
            (name, value)
            for name, value in parse_qsl(query, keep_blank_values=True)[:50]
            if (name in self._parameters if self._parameters is not None else _is_significant(name, value))
        ]
        return urlencode(sorted(kept), errors="replace")


def _is_significant(name: str, value: str) -> bool:
    return not TRACKING.fullmatch(name) and value.lower() not in PRINT_VALUES


def _globs(patterns: tuple[str, ...]) -> list[re.Pattern[str]]:
    return [re.compile(fnmatch.translate(pattern.lstrip("/"))) for pattern in patterns]


def _ascii(host: str) -> str:
    """Return the host name in ASCII, as DNS and headers have it; "" if impossible."""
    try:
        return host.lower() if host.isascii() else host.encode("idna").decode("ascii")
    except UnicodeError:
        return ""


def _netloc(scheme: str, host: str, port: int | None) -> str:
    name = f"[{host}]" if ":" in host else host
    return name if port in (None, _PORTS[scheme]) else f"{name}:{port}"


def _path(path: str) -> str:
    """Normalize a path: escapes only where necessary, in upper case, and no `.`, `..` or empty segments."""
    path = _ESCAPE.sub(_unescape, SESSION.sub("", path))
    parts: list[str] = []
    for part in quote(path, safe=_PATH_SAFE, errors="replace").split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts.append(part)
    folder = path.endswith(("/", "/.", "/..")) and parts
    return "".join(f"/{part}" for part in parts) + ("/" if folder else "")


def _unescape(escape: re.Match[str]) -> str:
    character = chr(int(escape[1], 16))
    return character if character in _UNRESERVED else escape[0].upper()
