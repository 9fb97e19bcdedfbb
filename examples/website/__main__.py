"""`make website`: a static site with the widget, built from the folder that Lore indexes; both served until Ctrl-C.

Without a key it embeds locally and answers with quotations; settings such as LORE_CHAT_MODEL are respected. Everything
it creates is below .lore/website.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from lore.cli.app import app
from lore.errors import LoreError
from lore.settings import load_settings
from lore.web.serve import serve

from examples.website.build import build

EXAMPLE = Path(__file__).resolve().parent
HOME = Path(".lore/website").absolute()
HOST = "localhost"
SITE_PORT, LORE_PORT = 8766, 8767  # 8765 is `lore serve` with an index of your own
SITE, LORE = f"http://{HOST}:{SITE_PORT}", f"http://{HOST}:{LORE_PORT}"
POLICY = (
    f"default-src 'none'; style-src 'self'; script-src {LORE}; connect-src {LORE}; base-uri 'none'; form-action 'none'"
)


class SiteHandler(SimpleHTTPRequestHandler):
    """A static host that sends a strict policy."""

    def end_headers(self) -> None:
        self.send_header("Content-Security-Policy", POLICY)
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, *_: object) -> None: ...


def main() -> int:
    """Index the folder, build the site, serve both, and return the exit code."""
    os.environ |= {
        "LORE_SOURCES_DIR": str(EXAMPLE / "sources"),
        "LORE_ASSISTANT": str(EXAMPLE / "assistant.yaml"),
        "LORE_STORE": "lancedb",  # whatever .env says
        "LORE_INDEX_URI": str(HOME / "index"),
        "LORE_RECORDS_URL": f"sqlite:///{HOME}/records.db",
        "LORE_STAGING_URI": str(HOME / "staging"),
        "LORE_WEB_SITES": SITE,
    }
    app(["sync", "--all"], standalone_mode=False)
    build(EXAMPLE / "content", EXAMPLE / "style.css", HOME / "site", LORE)
    try:
        site = ThreadingHTTPServer((HOST, SITE_PORT), partial(SiteHandler, directory=str(HOME / "site")))
    except OSError as error:
        print(f"Can't serve the site at {SITE}: {error.strerror}. End what uses the port.", file=sys.stderr)
        return 1
    Thread(target=site.serve_forever, daemon=True).start()
    try:
        serve(load_settings(), host=HOST, port=LORE_PORT, public=False, on_ready=_tell)
    except LoreError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _tell(address: str) -> None:
    print(f"The site is at {SITE}/, and Lore at {address} Ctrl-C ends both.")


if __name__ == "__main__":
    sys.exit(main())
