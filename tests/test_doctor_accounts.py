"""What the doctor says of the accounts by which sources are read: who they are, what they lack, never the secret."""

from __future__ import annotations

from pathlib import Path

import pytest
from lore import doctor
from lore.settings import load_settings

from tests.servers.github import App, Fault, GitHubServer
from tests.servers.local import LocalServer
from tests.servers.slack.web_api import TOKEN, SlackServer, refuses
from tests.sources.github.issues.issues import issue

SECRET = "ghp_very-secret"
ISSUES = "kind: github_issues\nrepository: octo/demo\ninclude_discussions: true\n"
REPO = "kind: github_repo\nrepository: octo/demo\n"
REFUSAL_STATUSES = b'{"message": "Resource not accessible by personal access token"}'


@pytest.fixture
def github():
    with GitHubServer([issue(1)], token=SECRET, files={"a.md": "# A\n"}) as github:
        yield github


@pytest.fixture
def slack():
    with SlackServer([{"id": "C1", "name": "general"}]) as slack:
        yield slack


def findings(folder: Path, **settings: str) -> dict[str, doctor.Finding]:
    """The findings on accounts, by name; none holds a secret."""
    environ = {f"LORE_{name.upper()}": value for name, value in settings.items()}
    values = load_settings({"LORE_SOURCES_DIR": str(folder), **environ})
    found = {one.name: one for one in doctor.examine_accounts(values.with_values(max_retries=0))}
    assert SECRET not in repr(found)
    assert TOKEN not in repr(found)
    return found


def declared(folder: Path, *texts: str) -> Path:
    for number, text in enumerate(texts):
        (folder / f"source-{number}.yaml").write_text(text)
    return folder


def of_github(folder: Path, github: GitHubServer, **settings: str) -> doctor.Finding:
    return findings(folder, **{"github_token": SECRET, "github_base_url": github.base_url, **settings})["github"]


def test_a_token_is_named_with_its_limit(tmp_path, github):
    found = of_github(declared(tmp_path, ISSUES, REPO), github)
    assert found.status == "ok"
    assert found.detail == f"octocat, {github.base_url}, {github.rate_limit:,} calls left this hour"
    github.scopes = "repo, read:org"
    assert "octocat, scopes repo, read:org" in of_github(tmp_path, github).detail
    github.scopes = ""
    assert "octocat, scopes none" in of_github(tmp_path, github).detail


@pytest.mark.parametrize(
    ("match", "permission"),
    [("/issues?", "issues"), ("/pulls?", "pull requests"), ("/graphql", "discussions"), ("/commits/", "contents")],
)
@pytest.mark.parametrize("status", [403, 404])
def test_what_the_token_may_not_read_is_named(tmp_path, github, match, permission, status):
    github.faults = [Fault(match, status, body=REFUSAL_STATUSES)]
    found = of_github(declared(tmp_path, ISSUES, REPO), github)
    assert found.status == "problem"
    assert f"it may not read octo/demo ({permission})" in found.detail
    assert "read access" in found.remedy


def test_issues_that_are_switched_off_and_an_empty_repository_are_no_lack(tmp_path, github):
    github.faults = [Fault("/issues?", 410), Fault("/commits/", 409)]
    assert of_github(declared(tmp_path, ISSUES, REPO), github).status == "ok"


def test_a_server_without_limits_and_a_token_that_is_nobodys(tmp_path, github):
    github.faults = [Fault("/rate_limit", 404), Fault("/user", 403, body=REFUSAL_STATUSES)]
    found = of_github(tmp_path, github)
    assert (found.status, found.detail) == ("ok", f"an installation's token, {github.base_url}, no rate limit")


def test_a_token_that_is_wrong(tmp_path, github):
    found = of_github(tmp_path, github, github_token="ghp_other")
    assert found.status == "problem"
    assert "401" in found.detail
    assert "LORE_GITHUB_TOKEN" in found.remedy


def test_a_server_that_is_none_of_github(tmp_path, github):
    github.faults = [Fault("/user", 200, body=b"[]")]
    assert "LORE_GITHUB_BASE_URL" in of_github(tmp_path, github).remedy


def test_without_a_token_or_a_repository_there_is_nothing_to_ask(tmp_path, github):
    assert findings(tmp_path)["github"].status == "skipped"
    assert of_github(tmp_path, github, github_app_id="12345", github_app_private_key="k").status == "skipped"
    assert not github.requests


def test_an_app_is_named_with_its_account(tmp_path, github):
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    kind, pem = serialization.PublicFormat.SubjectPublicKeyInfo, serialization.Encoding.PEM
    github.app = App(key.public_key().public_bytes(pem, kind).decode())
    form = serialization.PrivateFormat.TraditionalOpenSSL
    private = key.private_bytes(pem, form, serialization.NoEncryption()).decode()
    app = {"github_app_id": "12345", "github_app_private_key": private}
    found = of_github(declared(tmp_path, REPO), github, **app)
    assert found.status == "ok"
    assert found.detail.startswith("the App Lore of Acme for octo, ")
    assert "PRIVATE KEY" not in repr(found)
    assert of_github(tmp_path, github, **{**app, "github_app_id": "777"}).status == "problem"


def of_slack(folder: Path, slack: SlackServer, token: str = TOKEN) -> doctor.Finding:
    declared(folder, f"kind: slack\nbase_url: {slack.base_url}\n")
    return findings(folder, slack_token=token)["slack"]


def test_slack_is_named_with_its_scopes(tmp_path, slack):
    found = of_slack(tmp_path, slack)
    assert found.status == "ok"
    assert found.detail.startswith("lore in https://acme.slack.com, scopes channels:history, ")
    assert slack.calls() == {"auth.test": 1}


@pytest.mark.parametrize("scope", ["channels:read", "channels:history", "users:read", "files:read"])
def test_a_scope_that_is_missing_is_named(tmp_path, slack, scope):
    slack.scopes -= {scope}
    found = of_slack(tmp_path, slack)
    assert found.status == "problem"
    assert found.detail.endswith(f"the token lacks {scope}")
    assert "OAuth & Permissions" in found.remedy


def test_where_slack_does_not_tell_scopes_they_are_tried(tmp_path, slack):
    slack.tells_scopes = False
    assert of_slack(tmp_path, slack).detail.endswith("its scopes are not told")
    slack.scopes -= {"users:read"}
    assert of_slack(tmp_path, slack).detail.endswith("the token lacks users:read")


@pytest.mark.parametrize("error", ["invalid_auth", "token_revoked"])
def test_a_slack_token_that_is_not_taken(tmp_path, slack, error):
    slack.faults = [refuses(error)]
    found = of_slack(tmp_path, slack)
    assert found.status == "problem"
    assert error in found.detail
    assert "LORE_SLACK_TOKEN" in found.remedy


def test_declared_channels_without_a_token_are_a_problem_and_nothing_at_all_is_none(tmp_path, slack):
    assert findings(tmp_path)["slack"].status == "skipped"
    assert "LORE_SLACK_TOKEN" in of_slack(tmp_path, slack, token="").remedy
    assert not slack.requests


def test_nobody_there(tmp_path):
    with LocalServer() as server:
        address = server.base_url
    found = findings(tmp_path, github_token=SECRET, github_base_url=address)["github"]
    assert found.status == "problem"
    assert "127.0.0.1" in found.detail
