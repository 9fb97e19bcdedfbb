"""The web page inside Airflow: mounted by the plugin, behind Airflow's login and permissions.

Whoever may read the DAG `ask` may ask here; the audiences of their role and teams are those that access.yaml declares.
Everything heavy is imported and opened at the first request: the plugin costs Airflow's other processes nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["AirflowPage"]

USER = "lore.airflow_user"
ASK_DAG = "ask"
SURFACES = ("web", "airflow")
"""Surfaces whose answers the page shows: itself, and the DAG `ask`."""
PART_DAGS = {"versions": "rebuild", "answers": ASK_DAG}
"""Parts of the page about the index, and the DAG that one must be allowed to read to see each."""

log = logging.getLogger(__name__)


class AirflowPage:
    """The ASGI application that Airflow mounts. `project` is the folder with `dags`."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._app: ASGIApp | None = None
        self._opening = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of somebody who has logged in to Airflow and may read the DAG `ask`."""
        from starlette.concurrency import run_in_threadpool
        from starlette.requests import Request

        from lore.errors import LoreError
        from lore.web.access import refusal
        from lore.web.http_errors import error_response

        if scope["type"] != "http":
            return
        request = Request(scope)
        user = await _user_of(request)
        if user is None:
            await _to_login(request)(scope, receive, send)
            return
        if not await run_in_threadpool(_may_read_dag, ASK_DAG, user):
            remedy = "Ask an administrator of Airflow for the right to read it."
            await refusal(403, "You may not read the DAG `ask`.", remedy)(scope, receive, send)
            return
        try:
            async with self._opening:
                if self._app is None:
                    self._app = await run_in_threadpool(_open, self._project)
        except LoreError as error:
            log.warning("The page can't be shown: %s %s", error.message, error.remedy)
            await error_response(error)(scope, receive, send)
            return
        scope[USER] = user
        await self._app(scope, receive, send)


def _open(project: Path) -> ASGIApp:
    """Return the application over services that stay open until the process ends."""
    import atexit
    from contextlib import ExitStack

    from airflow.configuration import conf

    from lore.declarations import Access, load_access
    from lore.orchestration.connections import settings_of_server
    from lore.web.app import WebOptions, Within, create_app
    from lore.web.index_status import IndexStatus
    from lore.web.services import open_services

    settings = settings_of_server(project / "dags")
    access = load_access(settings.project.access) or Access()
    stack = ExitStack()
    services = stack.enter_context(open_services(settings))
    atexit.register(stack.close)
    address = urlsplit(conf.get("api", "base_url", fallback=""))
    web = settings.web
    options = WebOptions(
        web.workers,
        web.queue,
        questions=web.user_limit,
        sites=(f"{address.scheme}://{address.netloc}",) if address.netloc else (),
        metrics_token="",
        identified=True,
    )
    status = IndexStatus(settings, services.records)
    return create_app(services, options, Within(_caller_finder(access, web.user_limit), _parts_of, status, SURFACES))


def _caller_finder(access: Any, rate: int) -> Any:
    from lore.web.callers import Caller

    def find(request: Request) -> Caller:
        user = request.scope[USER]
        known = str(user.get_id())
        return Caller(access.audiences_of(_groups_of(user)), f"user {known}", rate, f"user:{known}", user.get_name())

    return find


def _groups_of(user: Any) -> tuple[str, ...]:
    """Return names under which access.yaml may declare audiences: the user's roles, teams and groups."""
    names: list[str] = []
    for attribute in ("role", "roles", "teams", "groups"):
        value = getattr(user, attribute, None) or ()
        several = [value] if isinstance(value, str) else value
        names += [one if isinstance(one, str) else str(getattr(one, "name", "")) for one in several]
    return tuple(filter(None, names))


def _parts_of(request: Request, parts: Collection[str]) -> set[str]:
    user = request.scope[USER]

    def dag_of(part: str) -> str:
        return f"ingest_{part.removeprefix('source:')}" if part.startswith("source:") else PART_DAGS[part]

    return {part for part in parts if _may_read_dag(dag_of(part), user)}


def _may_read_dag(dag_id: str, user: Any) -> bool:
    from airflow.api_fastapi.app import get_auth_manager
    from airflow.api_fastapi.auth.managers.models.resource_details import DagDetails
    from airflow.models.dag import DagModel

    details = DagDetails(id=dag_id, team_name=DagModel.get_team_name(dag_id))
    allowed: bool = get_auth_manager().is_authorized_dag(method="GET", details=details, user=user)
    return allowed


async def _user_of(request: Request) -> Any:
    """Return the user of Airflow who sent a request, None without a valid login."""
    from airflow.api_fastapi.core_api.security import bearer_scheme, get_user
    from starlette.exceptions import HTTPException

    try:
        return await get_user(request, None, await bearer_scheme(request))
    except HTTPException:
        return None


def _to_login(request: Request) -> ASGIApp:
    """Return the way to Airflow's login for a page, and a refusal for everything else."""
    from airflow.api_fastapi.app import get_auth_manager
    from starlette.responses import RedirectResponse

    from lore.web.access import refusal

    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        next_page = quote(f"{request.url.path}?{request.url.query}".rstrip("?"), safe="")
        login = get_auth_manager().get_url_login()
        return RedirectResponse(f"{login}{'&' if '?' in login else '?'}next={next_page}", 307)
    return refusal(401, "You aren't logged in to Airflow.", "Log in, and try again.")
