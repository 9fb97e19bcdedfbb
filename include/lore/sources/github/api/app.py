"""Authorization as a GitHub App: a JWT, signed with the App's key, is exchanged for a token that lasts an hour."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from lore.errors import ConfigurationError, SourceError, require
from lore.sources.github.api.client import GitHubAccess
from lore.sources.github.api.replies import GitHubError, GitHubReply
from lore.sources.http.retries import RetryPolicy
from lore.sources.payload import as_mapping, as_text

__all__ = ["AppToken", "github_access"]

UNAUTHORIZED = 401
JWT_SECONDS = 540
"""GitHub accepts at most ten minutes by its own clock."""
BACKDATED_SECONDS = 60
RENEW_BEFORE_SECONDS = 300
"""A token isn't used in its last minutes, so that it can't expire during a call."""


class AppToken:
    r"""Returns a valid token of one App installation; requests it on first use and renews it.

    `private_key` is PEM text, in which `\n` may stand for a line break. Without `installation_id`, the installation of
    `repository` (OWNER/NAME) is used. GitHub's clock corrects ours.

    A call raises ConfigurationError for an invalid key, and what calls to GitHub raise.
    """

    def __init__(
        self, access: GitHubAccess, app_id: str, private_key: str, *, repository: str, installation_id: str = ""
    ) -> None:
        self._access = replace(access, token=self._sign)
        self._app_id = app_id.strip()
        self._private_key = private_key.replace("\\n", "\n").strip() + "\n"
        self._repository = repository
        self._installation = installation_id.strip()
        self._clock_error = 0.0
        self._token = ""
        self._renew_at = 0.0

    def __call__(self) -> str:
        """Return the token."""
        if not self._token or self._access.retries.now() >= self._renew_at:
            self._renew()
        return self._token

    def name(self) -> str:
        """Return the App's name and the account that installed it; calls GitHub."""
        self._renew()  # corrects the clock
        with self._access.open() as client:
            app = as_mapping(client.get("/app").data)
            found = as_mapping(client.get(f"/app/installations/{self._installation}").data)
        account = as_text(as_mapping(found.get("account")).get("login")) or f"installation {self._installation}"
        return f"the App {as_text(app.get('name')) or self._app_id} for {account}"

    def _renew(self) -> None:
        try:
            reply = self._request_token()
        except GitHubError as error:
            if error.status != UNAUTHORIZED or error.server_time is None:
                raise
            self._clock_error = error.server_time - self._access.retries.now()
            reply = self._request_token()
        self._token, seconds = _read_token(reply, self._now())
        self._renew_at = self._access.retries.now() + seconds - RENEW_BEFORE_SECONDS

    def _request_token(self) -> GitHubReply:
        remedies = {
            401: "Check LORE_GITHUB_APP_ID, LORE_GITHUB_APP_PRIVATE_KEY and this machine's clock.",
            403: "The App's installation is suspended: one of its administrators can lift that.",
            404: f"Install the App for {self._repository}, or correct LORE_GITHUB_APP_INSTALLATION_ID.",
        }
        with self._access.open(remedies) as client:
            if not self._installation:
                found = as_mapping(client.get(f"/repos/{self._repository}/installation").data)
                self._installation = str(found.get("id") or "")
                if not self._installation:
                    raise SourceError(f"GitHub doesn't name the installation of {self._repository}.")
            return client.post(f"/app/installations/{self._installation}/access_tokens")

    def _sign(self) -> str:
        require("jwt", "github-app", "A GitHub App")
        import jwt

        now = int(self._now())
        claims = {"iss": self._app_id, "iat": now - BACKDATED_SECONDS, "exp": now + JWT_SECONDS}
        try:
            return jwt.encode(claims, self._private_key, algorithm="RS256")
        except Exception as error:  # PyJWT lets errors of cryptography pass, of many classes
            raise ConfigurationError(
                f"LORE_GITHUB_APP_PRIVATE_KEY is not a private RSA key ({type(error).__name__}).",
                remedy="Set it to the text of the .pem file that GitHub generated for the App.",
            ) from None

    def _now(self) -> float:
        return self._access.retries.now() + self._clock_error


def _read_token(reply: GitHubReply, now: float) -> tuple[str, float]:
    """Return the token and how many seconds it is valid by the server's clock."""
    data = as_mapping(reply.data)
    token, expires = as_text(data.get("token")), data.get("expires_at")
    if not token:
        raise SourceError("GitHub returned no token for the App's installation.", remedy="Check the base URL.")
    try:
        until = datetime.fromisoformat(str(expires)).astimezone(UTC).timestamp()
    except ValueError:
        return token, 0.0
    return token, until - (now if reply.server_time is None else reply.server_time)


def github_access(
    *,
    base_url: str,
    repository: str,
    token: str | None,
    app_id: str | None = None,
    app_private_key: str | None = None,
    app_installation_id: str | None = None,
    timeout: float = 60.0,
    max_retries: int = 4,
) -> GitHubAccess:
    """Return the access to a repository: as the App if one is set, else with the token, else anonymous.

    Raises ConfigurationError for an App without a key.
    """
    retries = RetryPolicy(max_retries, remedy="A token raises the limit.")
    access = GitHubAccess(base_url, token=lambda: token, timeout=timeout, retries=retries)
    if not app_id:
        return access
    if not app_private_key:
        raise ConfigurationError(
            "LORE_GITHUB_APP_ID is set and LORE_GITHUB_APP_PRIVATE_KEY is not.",
            remedy="Set both, or neither.",
        )
    app = AppToken(access, app_id, app_private_key, repository=repository, installation_id=app_installation_id or "")
    return replace(access, token=app)
