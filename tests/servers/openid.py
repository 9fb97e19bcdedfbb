"""A provider of OpenID Connect: discovery, authorization with PKCE, tokens, keys and user info; each can be spoiled."""

from __future__ import annotations

import base64
import hashlib
import json
import time
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import parse_qs, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import OctKey, RSAKey

from tests.servers.local import LocalServer, QuietHandler

CLIENT, SECRET = "lore", "a secret of the client"


@dataclass
class Spoil:
    """An answer of a path instead of the right one, waiting `delay` seconds."""

    path: str
    status: int | None = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = b"broken"
    cut: bool = False
    length: int | None = None
    delay: float = 0.0


class OpenIdHandler(QuietHandler):
    """Answers the provider's endpoints."""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        match parts.path:
            case "/.well-known/openid-configuration":
                self._json(self.api.metadata())
            case "/authorize":
                self.reply(302, {"Location": self.api.authorize(query)}, b"", self.api.spoil_of(parts.path))
            case "/keys":
                self._json({"keys": [self.api.key.as_dict(private=False)]})
            case "/userinfo":
                known = self.headers.get("Authorization") == "Bearer access"
                self._json({"sub": "alice", **self.api.more} if known else {}, 200 if known else 401)
            case _:
                self._json({}, 404)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        form = {name: values[0] for name, values in parse_qs(body).items()}
        token = self.api.token(form, self.headers.get("Authorization", ""))
        self._json(token, 400 if "error" in token else 200)

    def _json(self, value: object, status: int = 200) -> None:
        spoil = self.api.spoil_of(urlsplit(self.path).path)
        self.reply(status, {"Content-Type": "application/json"}, json.dumps(value).encode(), spoil)


class OpenIdProvider(LocalServer):
    """Logs everybody in as `claims` say. `more` is what user info adds; `forge` spoils the token's claims or header."""

    handler: ClassVar[type[QuietHandler]] = OpenIdHandler

    def __init__(self) -> None:
        super().__init__()
        self.key = RSAKey.generate_key(2048, {"kid": "one"})
        self.claims: dict[str, Any] = {"sub": "alice", "name": "Alice Arden", "groups": ["engineering"]}
        self.more: dict[str, Any] = {}
        self.forge: dict[str, Any] = {}
        self.issuer = ""
        self.spoils: list[Spoil] = []
        self._codes: dict[str, dict[str, str]] = {}

    def spoil_of(self, path: str) -> Spoil | None:
        return next((one for one in self.spoils if one.path == path), None)

    def metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.issuer or self.base_url,
            "authorization_endpoint": f"{self.base_url}/authorize",
            "token_endpoint": f"{self.base_url}/token",
            "jwks_uri": f"{self.base_url}/keys",
            "userinfo_endpoint": f"{self.base_url}/userinfo",
            "id_token_signing_alg_values_supported": ["RS256", "HS256", "none"],
            "code_challenge_methods_supported": ["S256"],
        }

    def authorize(self, query: dict[str, str]) -> str:
        assert (query["client_id"], query["response_type"], query["code_challenge_method"]) == (CLIENT, "code", "S256")
        code = f"code-{len(self._codes)}"
        self._codes[code] = query
        return f"{query['redirect_uri']}?{urlencode({'code': code, 'state': query['state']})}"

    def token(self, form: dict[str, str], authorization: str) -> dict[str, Any]:
        asked = self._codes.pop(form.get("code", ""), None)
        basic = base64.b64encode(f"{CLIENT}:{SECRET.replace(' ', '%20')}".encode()).decode()
        plain = base64.b64encode(f"{CLIENT}:{SECRET}".encode()).decode()
        if authorization not in (f"Basic {basic}", f"Basic {plain}"):
            return {"error": "invalid_client"}
        digest = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        if asked is None or challenge != asked["code_challenge"] or form["redirect_uri"] != asked["redirect_uri"]:
            return {"error": "invalid_grant"}
        return {"access_token": "access", "token_type": "Bearer", "expires_in": 60, "id_token": self._id_token(asked)}

    def _id_token(self, asked: dict[str, str]) -> str:
        now = int(time.time())
        claims = {"iss": self.base_url, "aud": CLIENT, "iat": now, "exp": now + 300, "nonce": asked["nonce"]}
        claims |= self.claims | {name: value for name, value in self.forge.items() if name not in ("alg", "key")}
        match self.forge.get("alg"):
            case "none":
                parts = [{"alg": "none"}, claims]
                encoded = [base64.urlsafe_b64encode(json.dumps(one).encode()).rstrip(b"=").decode() for one in parts]
                return f"{encoded[0]}.{encoded[1]}."
            case "HS256":
                return jwt.encode({"alg": "HS256"}, claims, OctKey.import_key(SECRET))
        return jwt.encode({"alg": "RS256", "kid": "one"}, claims, self.forge.get("key") or self.key)
