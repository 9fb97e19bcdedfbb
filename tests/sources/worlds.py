"""One small world for each kind of source: what it reads, how that is edited, added to and deleted from."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lore.sources.stackoverflow.dump import StackOverflowDumpSource

from tests.contracts.sync import World
from tests.servers.discourse import DiscourseServer
from tests.servers.github import GitHubServer
from tests.servers.github_tarball import ArchiveServer
from tests.servers.json_api import ListServer
from tests.servers.site import SiteServer, links, page
from tests.servers.slack.web_api import SlackServer
from tests.servers.stackexchange import StackExchangeServer
from tests.sources import test_files
from tests.sources.discourse import forums
from tests.sources.github.issues import issues as github
from tests.sources.github.issues import test_changes as test_github_changes
from tests.sources.github.issues import test_discussions as test_github_discussions
from tests.sources.github.repo import repositories
from tests.sources.json_api import lists
from tests.sources.site import sites
from tests.sources.slack import exports, workspaces
from tests.sources.stackoverflow import questions as stack

__all__ = ["WORLDS"]

COUNT = 120
FEW = 60
LATE = stack.START + 300 * stack.DAY


@contextmanager
def files(folder: Path) -> Iterator[World]:
    test_files.put(folder, **{f"page-{n}.md": f"# Page {n}\n\nAbout {n}.\n" for n in range(FEW)})
    yield World(
        lambda: test_files.source_of(folder),
        FEW,
        edit=lambda: test_files.put(folder, **{"page-3.md": "# Page 3\n\nOther words.\n"}),
        add=lambda: test_files.put(folder, **{"new.md": "# New\n\nNew words.\n"}),
        delete=lambda: (folder / "page-7.md").unlink(),
        rereads=True,
        resumes=False,
    )


@contextmanager
def site(folder: Path) -> Iterator[World]:
    pages = {f"/page-{number}": page(f"Page {number}", links("/")) for number in range(1, COUNT)}
    pages |= {"/": page("Home", links(*pages))}
    with SiteServer(pages) as server:

        def add() -> None:
            server.pages["/new"] = page("New", links("/"))
            server.pages["/page-5"] = page("Page 5", links("/", "/new"))

        yield World(
            lambda: sites.source_of(server),
            COUNT,
            edit=lambda: server.pages.update({"/page-3": page("Page 3, edited", links("/"))}),
            add=add,
            delete=lambda: server.pages.pop("/page-7"),
            fetched=lambda: len(server.bodies()),
            changed=2,
        )


@contextmanager
def github_repo(folder: Path) -> Iterator[World]:
    pages = {f"docs/{n}.md": f"# Page {n}\n\nAbout {n}.\n" for n in range(FEW)}
    with ArchiveServer() as archives, GitHubServer(files=pages, archives=archives) as server:
        yield World(
            lambda: repositories.source_of(server),
            FEW,
            edit=lambda: server.files.update({"docs/3.md": "# Page 3\n\nOther words.\n"}),
            add=lambda: server.files.update({"docs/new.md": "# New\n\nNew words.\n"}),
            delete=lambda: server.files.pop("docs/7.md"),
            fetched=lambda: len(archives.requests),
            resumes=False,
        )


@contextmanager
def github_issues(folder: Path) -> Iterator[World]:
    issues = [github.issue(n) for n in range(1, FEW + 1)]
    comments = [github.comment(n, n) for n in range(1, FEW + 1, 4)]
    with GitHubServer(issues, comments) as server:
        notes = [test_github_discussions.note(n, "A note.") for n in range(200, 210)]
        server.discussions = [test_github_discussions.discussion(n["databaseId"], comments=[n]) for n in notes]
        now = test_github_changes.now
        yield World(
            lambda: github.source_of(server, include_discussions=True),
            FEW + 10,
            edit=lambda: server.issues[3].update({"title": "Edited", "updated_at": now()}),
            add=lambda: server.issues.append(github.issue(999) | {"updated_at": now()}),
            delete=lambda: server.issues.pop(10),
            fetched=lambda: sum(request.status == 200 and request.method == "GET" for request in server.requests),
            twice=11,  # calls: of few issues that are left, comments are read one by one and not as one list
        )


@contextmanager
def slack(folder: Path) -> Iterator[World]:
    channels = {"C1": workspaces.messages_of_weeks(12), "C2": workspaces.thread(20, (21, "ok", "U2"))}
    with SlackServer(workspaces.CHANNELS, workspaces.USERS, channels) as server:
        yield World(
            lambda: workspaces.source_of(server, page_size=7),
            37,
            edit=lambda: server.messages["C1"][0].update(text="Another question"),
            add=lambda: server.messages["C1"].append(workspaces.say(900, "A new topic")),
            delete=lambda: server.messages["C1"].remove(
                next(one for one in server.messages["C1"] if one["text"] == "Evening 1")
            ),
            fetched=lambda: server.calls().get("conversations.replies", 0),
            twice=2,
            rechecked=2,
        )


@contextmanager
def slack_export(folder: Path) -> Iterator[World]:
    exports.write(folder, _days(FEW))

    def rewrite(change: Callable[[dict[str, object]], object]) -> None:
        name = folder / "general" / "2023-11-15.json"
        messages = {one["ts"]: one for one in json.loads(name.read_text())}
        change(messages)
        name.write_text(json.dumps(list(messages.values())))

    said = exports.say
    yield World(
        lambda: exports.source_of(folder),
        FEW,
        edit=lambda: rewrite(lambda found: found[exports.ts(600)].update(text="Other words")),
        add=lambda: rewrite(lambda found: found.update({"new": said(200 * FEW + 500, "New words")})),
        delete=lambda: rewrite(lambda found: found.pop(exports.ts(1400))),
        rereads=True,
        resumes=False,
    )


def _days(count: int) -> dict[str, object]:
    return {"general/2023-11-15.json": [exports.say(200 * n, f"Topic {n}") for n in range(count)]}


@contextmanager
def stackoverflow(folder: Path) -> Iterator[World]:
    questions, answers = _threads()
    with StackExchangeServer(questions, answers, quota=10_000) as server:
        yield World(
            lambda: stack.source_of(server),
            COUNT,
            edit=lambda: server.questions[3].update(title="Edited?", last_activity_date=LATE),
            add=lambda: server.questions.append(stack.question(999, LATE + 1)),
            delete=lambda: server.questions.pop(10),
            fetched=lambda: sum("/answers" in path for path in server.paths()),
        )


@contextmanager
def stackoverflow_dump(folder: Path) -> Iterator[World]:
    questions, answers = _threads()
    path = folder / "Posts.xml"

    def write() -> None:
        stack.dump(path, questions, answers)

    def edit() -> None:
        questions[3]["title"] = "Edited?"
        write()

    def add() -> None:
        questions.append(stack.question(999))
        answers.append(stack.answer(1999, 999))
        write()

    def delete() -> None:
        questions.pop(10)
        write()

    write()
    yield World(
        lambda: StackOverflowDumpSource(stack.declared(dump=path)),
        COUNT,
        edit=edit,
        add=add,
        delete=delete,
        resumes=False,
    )


def _threads() -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    numbers = range(1, COUNT + 1)
    return [stack.question(n) for n in numbers], [stack.answer(1000 + n, n) for n in numbers]


@contextmanager
def discourse(folder: Path) -> Iterator[World]:
    with DiscourseServer([forums.topic(n) for n in range(1, FEW + 1)]) as server:
        yield World(
            lambda: forums.source_of(server),
            FEW,
            edit=lambda: server.topics[3].update(title="Edited", bumped_at=forums.stamp(9000)),
            add=lambda: server.topics.append(forums.topic(999)),
            delete=lambda: server.topics.pop(10),
            fetched=lambda: sum(path.startswith("/t/") for path in server.paths()),
        )


@contextmanager
def json_api(folder: Path) -> Iterator[World]:
    items = [lists.item(n) for n in range(1, FEW + 1)]
    with ListServer(items, paging="link", size=15) as server:
        yield World(
            lambda: lists.source_of(server),
            FEW,
            edit=lambda: server.items[3].update(about="Edited."),
            add=lambda: server.items.append(lists.item(999)),
            delete=lambda: server.items.pop(10),
            fetched=lambda: server.bodies,
        )


WORLDS = {
    world.__name__: world
    for world in (
        files,
        site,
        github_repo,
        github_issues,
        slack,
        slack_export,
        stackoverflow,
        stackoverflow_dump,
        discourse,
        json_api,
    )
}
"""The worlds by kind; each takes an empty folder."""
