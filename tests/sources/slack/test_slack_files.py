"""Snippets and text files of Slack: their text in the conversation, from Slack's own hosts only."""

from __future__ import annotations

import pytest
from lore.errors import SourceError
from lore.sources.slack.api import SlackApi, SlackConnection
from lore.sources.slack.attachments import PostFile
from lore.sources.slack.files import SlackFiles
from lore.sources.slack.messages import Conversation, Post

from tests.servers.github import Fault
from tests.servers.slack.web_api import LOGIN_PAGE, TOKEN, SlackServer
from tests.sources.slack.workspaces import CHANNELS, USERS, say, source_of, synced, thread, ts

LONG = "\n".join(f"line {n} of the log" for n in range(40))


def file_of(slack, name="deploy.log", content: bytes | None = LONG.encode(), identity="F1", **more: object):
    if content is not None:
        slack.files[identity] = content
    return {
        "id": identity, "name": name, "title": name, "mode": "hosted", "mimetype": "text/plain", "filetype": "text",
        "size": len(content or b""), "permalink": f"https://acme.slack.com/files/U1/{identity}/{name}",
        "url_private": f"{slack.origin}/files-pri/T1-{identity}/{name}",
        "url_private_download": f"{slack.origin}/files-pri/T1-{identity}/download/{name}",
    } | more  # fmt: skip


def snippet(slack, text: str, shown: str, **more: object):
    whole = shown == text
    lines = text.count("\n") - shown.count("\n")
    given = {"mode": "snippet", "preview": shown, "preview_is_truncated": not whole, "lines_more": lines}
    return file_of(slack, content=text.encode(), **given, **more)


@pytest.fixture
def slack():
    with SlackServer(CHANNELS, USERS, {"C1": [], "C2": []}) as slack:
        yield slack


def posted(slack, *files, **options):
    """The text of the conversation in which the files were posted."""
    slack.messages["C1"] = [say(0, "look at this", files=list(files))]
    (document,) = synced(source_of(slack, **options))[0].values()
    return document.text


def downloads(slack):
    return [request.path for request in slack.requests if "files-pri" in request.path]


def test_a_text_file_is_read_below_its_name(slack):
    text = posted(slack, file_of(slack))
    assert text == (
        "**Ann Lee** (2023-11-15 12:00 UTC):\n\nlook at this\n\n"
        f"File: [deploy.log](https://acme.slack.com/files/U1/F1/deploy.log)\n\n```\n{LONG}\n```\n"
    )
    assert downloads(slack) == ["/files-pri/T1-F1/download/deploy.log"]


def test_a_snippet_that_its_message_shows_whole_is_not_asked_for(slack):
    text = posted(slack, snippet(slack, "SELECT 1;\n", "SELECT 1;\n", filetype="sql"))
    assert "```sql\nSELECT 1;\n```" in text
    assert not downloads(slack)


def test_a_snippet_that_its_message_shows_in_part_is_read(slack):
    assert LONG in posted(slack, snippet(slack, LONG, LONG[:60], filetype="python"))


def test_without_files_a_snippet_ends_where_its_message_cuts_it(slack):
    text = posted(slack, snippet(slack, LONG, "line 0 of the log\nline 1"), file_of(slack, "b.txt", identity="F2"),
                  include_files=False)  # fmt: skip
    assert "```\nline 0 of the log\nline 1\n…\n```" in text
    assert "[b.txt]" in text
    assert not downloads(slack)


def test_code_that_holds_fences_does_not_end_its_own(slack):
    assert "`````\n````\ninner\n````\n`````" in posted(slack, file_of(slack, content=b"````\ninner\n````"))


@pytest.mark.parametrize(
    "more",
    [
        {"size": 100_001},
        {"size": 0},
        {"mimetype": "image/png"},
        {"mimetype": "application/pdf"},
        {"mimetype": "text/html"},
        {"mode": "external", "url_private_download": "https://drive.example/f"},
        {"mode": "post"},
        {"url_private_download": "http://127.0.0.1:1/files-pri/x", "url_private": ""},
        {"url_private_download": "https://files.slack.com/files-pri/x", "url_private": ""},
        {"url_private_download": "http://[", "url_private": ""},
        {"url_private_download": "http://a:b/", "url_private": ""},
        {"url_private_download": "", "url_private": ""},
    ],
)
def test_what_is_no_small_text_file_of_slack_is_named_only(slack, more):
    text = posted(slack, file_of(slack, **more))
    assert "File: [deploy.log](https://acme.slack.com/files/U1/F1/deploy.log)" in text
    assert "```" not in text
    assert not downloads(slack)


@pytest.mark.parametrize("content", [b"", b"\x00\x01\x02\x03\x04\x05" * 50, b"%PDF-1.7 ...", b"x" * 100_001, None])
def test_what_turns_out_to_be_no_small_text_is_named_only(slack, content):
    text = posted(slack, file_of(slack, content=content, size=50))
    assert "File: [deploy.log]" in text
    assert "```" not in text


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("\ufeffGrüße".encode(), "Grüße"),
        ("Grüße".encode("utf-16"), "Grüße"),
        ("Grüße aus Köln".encode("cp1252"), "Grüße aus Köln"),
        (b"a\r\nb\x07\x1b[0m", "a\nb[0m"),
    ],
)
def test_a_files_charset_is_found(slack, data, expected):
    assert f"```\n{expected}\n```" in posted(slack, file_of(slack, content=data))


@pytest.mark.parametrize(
    "fault", [Fault(status=500), Fault(status=429, headers={"Retry-After": "9"}), Fault(cut=True), Fault(status=503)]
)
def test_a_download_that_fails_for_the_moment_is_tried_again(slack, fault):
    fault.match, fault.times = "files-pri", 1
    slack.faults = [fault]
    waits = []
    slack.messages["C1"] = [say(0, "look", files=[file_of(slack)])]
    (document,) = synced(source_of(slack, waits=waits))[0].values()
    assert LONG in document.text
    assert len(waits) == 1
    assert waits == [9] or fault.status != 429


def test_an_outage_of_files_ends_the_run_and_the_next_reads_them(slack):
    slack.messages["C1"] = [say(0, "look", files=[file_of(slack)])]
    slack.faults = [Fault("files-pri", status=500, times=2)]
    with pytest.raises(SourceError, match="A file in Slack failed 2 times") as caught:
        synced(source_of(slack))
    assert caught.value.retryable
    assert LONG in next(iter(synced(source_of(slack))[0].values())).text


@pytest.mark.parametrize(
    "fault",
    [
        None,
        Fault("files-pri", status=302, headers={"Location": "https://acme.slack.com/?redir=x"}),
        Fault("files-pri", status=403, body=b"no"),
        Fault("files-pri", body=b"\n " + LOGIN_PAGE),
    ],
)
def test_files_that_the_token_may_not_read_name_the_scope(slack, fault):
    if fault:
        slack.faults = [fault]
    else:
        slack.scopes -= {"files:read"}
    with pytest.raises(SourceError, match="refuses files") as caught:
        posted(slack, file_of(slack))
    assert "files:read" in caught.value.remedy
    assert "include_files" in caught.value.remedy
    assert not caught.value.retryable


def test_a_redirect_to_another_host_is_not_followed_and_gets_no_token(slack):
    with SlackServer() as other:
        slack.faults = [Fault("files-pri", status=302, headers={"Location": f"{other.origin}/files-pri/T1-F1/x"})]
        with pytest.raises(SourceError):
            posted(slack, file_of(slack))
        assert not other.requests


@pytest.mark.parametrize(
    ("base_url", "url", "ours"),
    [
        ("https://slack.com/api", "https://files.slack.com/files-pri/T1-F1/a.txt", True),
        ("https://slack.com/api", "https://acme.slack.com/files-pri/T1-F1/a.txt", True),
        ("https://slack.com/api", "http://files.slack.com/files-pri/T1-F1/a.txt", False),
        ("https://slack.com/api", "https://files.slack.com.evil.example/a", False),
        ("https://slack.com/api", "https://evilslack.com/a", False),
        ("https://slack.com/api", "https://files.slack.com@evil.example/a", False),
        ("https://slack.com/api", "https://files.slack.com:8443/a", False),
        ("https://slack.com/api", "https://files.slack-gov.com/a", False),
        ("https://slack-gov.com/api", "https://files.slack-gov.com/a", True),
        ("https://slack.example/api", "https://files.slack.com/a", False),
        ("https://slack.example/api", "https://slack.example/files-pri/a", True),
    ],
)
def test_the_token_goes_to_slacks_own_hosts_only(base_url, url, ours):
    connection = SlackConnection(base_url, TOKEN)
    with SlackApi(connection, page_size=9) as api, SlackFiles(api, connection, max_bytes=99) as files:
        assert files.is_slack_address(url) is ours


def test_a_file_of_another_workspace_is_looked_up(slack):
    slack.file_objects["F9"] = file_of(slack, "shared.txt", identity="F9")
    stub = {"id": "F9", "file_access": "check_file_info", "mode": "file_access"}
    text = posted(slack, stub, {"id": "F8", "file_access": "check_file_info"})
    assert LONG in text
    assert "[shared.txt]" in text
    assert slack.calls()["files.info"] == 2


def test_an_edited_snippet_is_read_again_and_an_unchanged_one_is_not(slack):
    slack.messages["C1"] = thread(0, (1, "reply", "U2"), text="see", files=[snippet(slack, LONG, LONG[:60])])
    source = source_of(slack)
    _, cursor = synced(source)
    assert synced(source, cursor) == ({}, cursor)
    assert len(downloads(slack)) == 1
    slack.messages["C1"][0]["files"] = [snippet(slack, LONG + "\nmore", LONG[:60])]
    found, _ = synced(source, cursor)
    assert "\nmore\n```" in found[f"C1:{ts(0)}"].text


def test_files_without_an_address_are_left_as_they_are():
    connection = SlackConnection("https://slack.com/api", TOKEN)
    post = Post("1.0", "", "Ann", "", "File: a", bot=False, files=(PostFile("F1", "File: a", "File: a"),))
    with SlackApi(connection, page_size=9) as api, SlackFiles(api, connection, max_bytes=99) as files:
        assert files.with_file_texts(Conversation("1.0", (post,))) == Conversation("1.0", (post,))
