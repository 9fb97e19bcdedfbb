"""The Airflow plugin: *Ask Lore* and the page of the index, in Airflow's navigation and behind its login."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, ClassVar

from airflow.plugins_manager import AirflowPlugin

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT / "include"))  # this checkout's own code first, as in the DAG files

from lore.orchestration.web_page import AirflowPage


class LorePlugin(AirflowPlugin):
    """Mounts the page at /lore and shows it in the navigation."""

    name = "lore"
    fastapi_apps: ClassVar[list[Any]] = [{"app": AirflowPage(PROJECT), "url_prefix": "/lore", "name": "Lore"}]
    external_views: ClassVar[list[Any]] = [
        {
            "name": "Ask Lore",
            "href": "lore/",
            "destination": "nav",
            "url_route": "lore",
            "nav_top_level": True,
        },
        {
            "name": "Lore's index",
            "href": "lore/index",
            "destination": "nav",
            "category": "browse",
            "url_route": "lore-index",
        },
    ]
