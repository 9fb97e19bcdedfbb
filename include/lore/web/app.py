"""The application: routes, page and guards in one place."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from secrets import token_urlsafe
from urllib.parse import urlsplit

from fastapi import FastAPI, Request
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.sessions import SessionMiddleware
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles

from lore.declarations import Access
from lore.web.access import BodyLimit, Guard
from lore.web.agents.mcp_server import McpEndpoint
from lore.web.asking import Asking
from lore.web.callers import Callers, FindCaller, caller_by_key
from lore.web.chat.openai_api import make_openai_routes
from lore.web.http_errors import add_error_handlers
from lore.web.index_status import IndexStatus, MayRead, make_index_routes
from lore.web.login import LOGIN_PATH, make_login_routes
from lore.web.metrics import Metrics, make_metrics_route
from lore.web.people import caller_by_proxy, caller_by_session
from lore.web.question_threads import QuestionThreads
from lore.web.routes import make_routes
from lore.web.services import Services

__all__ = ["WebOptions", "Within", "create_app"]

STATIC = Path(__file__).parent / "static"
PAGE = STATIC / "index.html"
INDEX_PAGE = STATIC / "state.html"
WIDGET = STATIC / "widget.js"


@dataclass(frozen=True, slots=True)
class WebOptions:
    """Limits of the application.

    `workers` questions are answered at once, and `places` more may wait. One address may ask `questions` in ten
    minutes (0: no limit). `hosts` are the names by which the server is called; empty accepts any. `sites` are the
    origins of sites that show the widget. `metrics_token` must be sent to read the metrics; None lets everybody read
    them, and an empty one nobody. `identified` says that nobody may ask without a key or a login. People log in as
    `access` declares, with the secret of the client that it names; `session_secret` signs their sessions.
    """

    workers: int = 8
    places: int = 64
    questions: int = 0
    hosts: tuple[str, ...] = ()
    sites: tuple[str, ...] = ()
    metrics_token: str | None = None
    identified: bool = False
    access: Access | None = None
    login_secret: str | None = None
    session_secret: str | None = None


@dataclass(frozen=True, slots=True)
class Within:
    """An application that has this one inside, such as Airflow, and shows it in frames of its own pages.

    It tells who calls, and which parts of the page about the index they may read. The page shows answers given on
    these `surfaces`.
    """

    find_caller: FindCaller
    may_read: MayRead
    status: IndexStatus
    surfaces: tuple[str, ...]


def create_app(services: Services, options: WebOptions | None = None, within: Within | None = None) -> FastAPI:
    """Return the ASGI application, alone or within another one. Agents are served only if its lifespan runs."""
    options = options or WebOptions()
    runner = QuestionThreads(options.workers, options.places)
    metrics = Metrics(services.sources, lambda: runner.waiting)
    find_key = services.records.api_keys().find if services.records else lambda _: None
    ways = [within.find_caller] if within else [caller_by_key(find_key)]
    access = options.access or Access()
    if access.login:
        ways.append(caller_by_session(access, options.questions))
    if access.proxy:
        ways.append(caller_by_proxy(access, options.questions))
    callers = Callers(
        ways, required=options.identified, rate=options.questions, login=LOGIN_PATH if access.login else ""
    )

    asking = Asking(services, runner, callers, metrics)
    mcp = None if within else McpEndpoint(asking)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        async with mcp.run() if mcp else nullcontext():
            yield
        runner.close()

    app = FastAPI(
        title=services.name,
        summary="Answers from a team's own documents, each with its sources.",
        docs_url=None,
        redoc_url=None,
        lifespan=life,
    )
    add_error_handlers(app)
    app.include_router(make_routes(asking, within.surfaces) if within else make_routes(asking))
    app.include_router(make_openai_routes(asking))
    app.include_router(make_metrics_route(metrics, options.metrics_token))
    page = partial(_page, PAGE, index="index" if within else "")
    for path in ("/", "/a/{answer_id}"):
        app.router.routes.append(Route(path, page, methods=["GET"], include_in_schema=False))
    app.add_api_route("/widget.js", _widget, methods=["GET"], include_in_schema=False, response_model=None)
    if within:
        app.include_router(make_index_routes(within.status, within.may_read))
        app.router.routes.append(Route("/index", partial(_page, INDEX_PAGE), methods=["GET"], include_in_schema=False))
    if mcp:
        app.router.routes.append(Route("/mcp", mcp, methods=["GET", "POST", "DELETE"], include_in_schema=False))
    if access.login:
        app.include_router(make_login_routes(access, options.login_secret))
        app.add_middleware(
            SessionMiddleware,
            secret_key=options.session_secret or token_urlsafe(32),
            session_cookie="lore_session",
            max_age=int(access.login.hours * 3600),
            path=urlsplit(access.login.url).path or "/",
            https_only=access.login.url.startswith("https:"),
        )
    app.mount("/static", StaticFiles(directory=STATIC), name="static")
    app.add_middleware(BodyLimit)
    app.add_middleware(Guard, hosts=options.hosts, sites=options.sites, framed=within is not None)
    app.add_middleware(
        CORSMiddleware,
        allow_origins=options.sites,
        allow_methods=["GET", "POST"],
        allow_headers=["Content-Type"],
    )
    return app


async def _page(file: Path, request: Request, index: str = "") -> Response:
    root = escape(request.scope.get("root_path") or "")
    text = file.read_text(encoding="utf-8").replace("{root}", root).replace("{index}", index)
    return HTMLResponse(text, headers={"Cache-Control": "no-cache"})


async def _widget() -> Response:
    headers = {"Cache-Control": "no-cache", "Cross-Origin-Resource-Policy": "cross-origin"}
    return FileResponse(WIDGET, media_type="text/javascript", headers=headers)
