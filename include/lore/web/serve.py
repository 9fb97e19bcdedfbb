"""`lore serve`: the application under uvicorn until it is stopped."""

from __future__ import annotations

import socket
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import uvicorn
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from lore.declarations import Access, load_access
from lore.errors import ConfigurationError
from lore.settings import Settings
from lore.web.access import LOOPBACK_NAMES, allowed_sites, check_address
from lore.web.app import WebOptions, create_app
from lore.web.people import KeepPeer
from lore.web.services import open_services
from lore.wiring.records import is_recording
from lore.wiring.secrets import secret

__all__ = ["serve"]

MOST_CONNECTIONS = 1_000

STOP_SECONDS = 20
"""Time for current answers once the server is to stop."""


def serve(
    settings: Settings,
    *,
    host: str,
    port: int,
    public: bool = False,
    keys: bool = False,
    on_ready: Callable[[str], None] = lambda _: None,
) -> None:
    """Serve until SIGTERM or SIGINT arrives; `on_ready` is called with the address of the page.

    With `keys`, a caller needs one. If access.yaml declares a login, people need that. With `public` too, those without
    either may read what is public.

    Raises ConfigurationError for an address that can't or shouldn't be listened on, and without an index.
    """
    access = load_access(settings.project.access) or Access()
    login = bool(access.login or access.proxy)
    check_address(host, public=public, identified=keys or login)
    if keys and not is_recording(settings):
        raise ConfigurationError(
            "API keys are kept in the records, and LORE_RECORDS_URL is none.", remedy="Unset it, or leave out --keys."
        )
    web = settings.web
    hosts = tuple(filter(None, map(str.strip, web.hosts.split(","))))
    reached = public or keys or login
    options = WebOptions(
        web.workers,
        web.queue,
        questions=web.user_limit if public or login else 0,
        hosts=hosts,
        sites=allowed_sites(web.sites),
        metrics_token=secret(web.metrics_token) or ("" if reached else None),
        identified=reached and not public,
        access=access,
        login_secret=secret(web.login_secret),
        session_secret=secret(web.session_secret),
    )
    if not reached:  # whoever names this machine otherwise is a page of another site
        options = replace(options, hosts=(*LOOPBACK_NAMES, host, *options.hosts))
    with _listener(host, port) as listener, open_services(settings) as services:
        app: Any = create_app(services, options)
        app = KeepPeer(ProxyHeadersMiddleware(app, trusted_hosts=web.proxies))  # type: ignore[arg-type]
        config = uvicorn.Config(
            app,
            proxy_headers=False,
            log_level="warning",
            access_log=False,
            server_header=False,
            root_path=web.root_path,
            timeout_graceful_shutdown=STOP_SECONDS,
            timeout_keep_alive=30,
            limit_concurrency=MOST_CONNECTIONS,
        )
        shown = "localhost" if host in LOOPBACK_NAMES else host
        on_ready(f"http://{shown}:{listener.getsockname()[1]}{web.root_path}/")
        uvicorn.Server(config).run(sockets=[listener])


def _listener(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family)
    except OSError as error:
        raise ConfigurationError(
            f"Can't listen on {host}:{port}: {error.strerror or error}.", remedy="Choose another --host or --port."
        ) from None
