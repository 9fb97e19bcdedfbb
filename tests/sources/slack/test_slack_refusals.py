"""Slack when it refuses: errors name what to do, and the token goes nowhere else."""

from __future__ import annotations

import json
import logging

import pytest
from lore.errors import ConfigurationError, SourceError

from tests.servers.github import Fault
from tests.servers.slack.web_api import TOKEN, SlackServer, refuses
from tests.sources.slack.workspaces import CALLS, documents, say, source_of, synced


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("scope", "channels"),
    [
        ("channels:read", ["general"]),
        ("channels:history", ["general"]),
        ("groups:read", ["board"]),
        ("groups:history", ["C7"]),
        ("users:read", ["general"]),
    ],
)
def test_a_missing_scope_is_named(slack, call, scope, channels):
    slack.channels.append({"id": "C7", "name": "board", "is_private": True})
    slack.messages["C7"] = [say(0, "x")]
    slack.scopes -= {scope}
    with pytest.raises(SourceError) as caught:
        call(source_of(slack, channels=channels))
    assert f"lacks the scope {scope}" in caught.value.message
    assert "files:read" in caught.value.message  # one of those that it has
    assert f"Add {scope}" in caught.value.remedy
    assert not caught.value.retryable


def test_of_several_scopes_the_one_for_the_channel_is_to_be_added(slack):
    slack.faults = [
        refuses("missing_scope", "history", needed="channels:history,groups:history", provided="users:read")
    ]
    with pytest.raises(SourceError) as caught:
        list(source_of(slack).read(None))
    assert "lacks one of the scopes channels:history,groups:history; it has users:read" in caught.value.message
    assert "for this kind of channel" in caught.value.remedy


@pytest.mark.parametrize("call", CALLS)
def test_a_channel_that_the_app_is_not_in_says_to_invite_it(slack, call):
    slack.channels[0]["is_member"] = False
    with pytest.raises(SourceError, match="not_in_channel") as caught:
        call(source_of(slack, channels=["general"]))
    assert "/invite @lore in #general" in caught.value.remedy
    slack.channels[1]["is_member"] = False
    with pytest.raises(SourceError, match="isn't a member of any public channel") as caught:
        call(source_of(slack))
    assert "Invite" in caught.value.remedy


def test_archived_channels_are_read_and_when_they_cannot_be_it_is_said(slack, expected):
    slack.channels[1]["is_archived"] = True
    assert documents(source_of(slack)) == expected
    slack.channels[1]["is_member"] = False
    with pytest.raises(SourceError, match=r"#deploys \(archived\): not_in_channel") as caught:
        documents(source_of(slack, channels=["deploys"]))
    assert "unarchive" in caught.value.remedy


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    "code", ["invalid_auth", "token_revoked", "token_expired", "account_inactive", "not_allowed_token_type"]
)
def test_a_token_that_is_not_taken_says_where_to_get_one(slack, call, code):
    slack.faults = [refuses(code, times=9)]
    with pytest.raises(SourceError, match=code) as caught:
        call(source_of(slack))
    assert "LORE_SLACK_TOKEN" in caught.value.remedy
    assert not caught.value.retryable


@pytest.mark.parametrize("token", [None, "", "  "])
def test_no_token_is_an_error_before_anything_is_asked(slack, token):
    with pytest.raises(ConfigurationError, match="token") as caught:
        list(source_of(slack, token=token).read(None))
    assert "LORE_SLACK_TOKEN" in caught.value.remedy
    assert not slack.requests


@pytest.mark.parametrize(
    "fault",
    [
        refuses("missing_scope", needed=TOKEN, provided=f"a,{TOKEN}", times=9),
        refuses(TOKEN, times=9),
        Fault(status=403, body=json.dumps({"message": f"no {TOKEN}"}).encode(), times=9),
        Fault(status=500, body=json.dumps({"message": f"no {TOKEN}"}).encode(), times=9),
        Fault(status=302, headers={"Location": f"/{TOKEN}"}, times=9),
        Fault(body=TOKEN.encode(), times=9),
    ],
)
def test_a_server_that_repeats_the_token_does_not_get_it_into_an_error(slack, fault):
    slack.faults = [fault]
    with pytest.raises(SourceError) as caught:
        list(source_of(slack).read(None))
    assert TOKEN not in f"{caught.value!r}{caught.value}"


def test_the_token_is_sent_in_its_header_and_is_in_no_log(slack, caplog):
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.DEBUG, logger="httpx")
    slack.files["F1"] = b"text"
    file = {"id": "F1", "name": "a.txt", "mode": "hosted", "mimetype": "text/plain", "size": 4}
    slack.messages["C1"].append(say(90, "file", files=[file | {"url_private": f"{slack.origin}/files-pri/T1-F1/a"}]))
    source = source_of(slack)
    list(source.read(None))
    assert all(request.headers["authorization"] == f"Bearer {TOKEN}" for request in slack.requests)
    assert all(TOKEN not in f"{request.path}{request.query}" for request in slack.requests)
    assert "files-pri" in caplog.text
    assert TOKEN not in caplog.text
    assert TOKEN not in repr(vars(source))


def test_a_redirect_to_another_server_is_not_followed(slack):
    with SlackServer() as other:
        slack.faults = [Fault("history", status=302, headers={"Location": f"{other.base_url}/conversations.history"})]
        with pytest.raises(SourceError, match="another server"):
            list(source_of(slack).read(None))
        assert not other.requests


@pytest.mark.parametrize("cursor", ["x", "{}", "[]", '{"selection": 5}', '{"selection": 5, "channels": 7}'])
def test_a_cursor_that_is_none_is_an_error_or_a_full_read(slack, expected, cursor):
    try:
        assert documents(source_of(slack), cursor) == expected
    except SourceError as error:
        assert "cursor" in error.message


def test_a_cursor_whose_inside_is_broken_is_an_error(slack):
    _, cursor = synced(source_of(slack))
    for change in ({"newest": "soon"}, {"marks": 5, "todo": []}, None, 5):
        broken = json.loads(cursor)
        broken["channels"]["C1"] = {**broken["channels"]["C1"], **change} if isinstance(change, dict) else change
        with pytest.raises(SourceError, match="cursor"):
            list(source_of(slack).read(json.dumps(broken)))
