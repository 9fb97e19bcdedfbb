"""A person who answers what a run asks, through the same calls as Airflow's API makes for the button."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Asked:
    """What the person saw: headline and text of each request."""

    requests: list[tuple[str, str]] = field(default_factory=list)


@contextmanager
def a_person_who(chooses: str, *, name: str = "Ada", meanwhile: Callable[[], None] = lambda: None) -> Iterator[Asked]:
    """While this is open, every request for input is answered with this option, after what happened `meanwhile`."""
    asked, done = Asked(), threading.Event()

    def answer() -> None:
        while not done.wait(0.05):  # `dag.test()` looks once a second whether somebody has answered
            _answer_all(chooses, name, asked, meanwhile)

    person = threading.Thread(target=answer)
    person.start()
    try:
        yield asked
    finally:
        done.set()
        person.join()


def _answer_all(chooses: str, name: str, asked: Asked, meanwhile: Callable[[], None]) -> None:
    from airflow.models.hitl import HITLDetail
    from airflow.models.taskinstance import TaskInstance
    from airflow.models.trigger import handle_event_submit
    from airflow.sdk.timezone import utcnow
    from airflow.triggers.base import TriggerEvent
    from airflow.utils.session import create_session
    from sqlalchemy import select

    with create_session() as session:
        for waiting in session.scalars(select(TaskInstance).where(TaskInstance.state == "awaiting_input")):
            detail = session.scalar(select(HITLDetail).where(HITLDetail.ti_id == waiting.id))
            if detail is None:
                continue
            if not detail.response_received:
                asked.requests.append((detail.subject, detail.body))
                meanwhile()
                detail.responded_at = utcnow()
                detail.chosen_options = [chooses]
                detail.responded_by = {"id": name.lower(), "name": name}
            handle_event_submit(TriggerEvent(detail.as_resume_event_payload()), task_instance=waiting, session=session)
