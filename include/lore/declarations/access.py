"""The declaration of access: how people prove who they are, and which audiences they read as."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationInfo, field_validator

from lore.declarations.fields import WebAddress
from lore.declarations.yaml_file import read_model
from lore.types import PUBLIC

__all__ = ["Access", "Login", "Proxy", "load_access"]

LOOPBACK = ("localhost", "127.0.0.1", "::1")


def _network(value: str) -> str:
    try:
        return str(ipaddress.ip_network(value, strict=False))
    except ValueError:
        raise ValueError(f"holds {value!r}, which is neither an address nor a network such as 10.0.0.0/8") from None


def _header(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9-]{1,64}", value):
        raise ValueError("is an invalid name of a header")
    return value.lower()


def _issuer(value: str) -> str:
    if urlsplit(value).scheme != "https" and urlsplit(value).hostname not in LOOPBACK:
        raise ValueError("should start with https://: over http others can read and change who logs in")
    return value


ShortName: TypeAlias = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]
Audiences: TypeAlias = Annotated[tuple[ShortName, ...], Field(max_length=1_000)]
Network: TypeAlias = Annotated[str, AfterValidator(_network)]
HeaderName: TypeAlias = Annotated[str, AfterValidator(_header)]


class Login(BaseModel):
    """A login by OpenID Connect. The client's secret is the setting LORE_WEB_LOGIN_SECRET."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    issuer: Annotated[WebAddress, AfterValidator(_issuer)] = Field(description="Address of the OpenID provider")
    client_id: ShortName = Field(description="Id under which the provider knows Lore")
    url: Annotated[WebAddress, AfterValidator(_issuer)] = Field(
        description="Address of the page for its readers; the provider sends them back to URL/login/callback"
    )
    scopes: tuple[ShortName, ...] = Field(("openid", "profile", "email"), description="Scopes to ask for")
    groups_claim: ShortName = Field("groups", description="Claim with a person's groups; dots lead into objects")
    hours: float = Field(8, gt=0, le=720, description="Hours until a person logs in anew")


class Proxy(BaseModel):
    """A proxy that logs people in and names them in headers, believed only if they come from its addresses."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    addresses: tuple[Network, ...] = Field(min_length=1, description="Addresses or networks of the proxy")
    user_header: HeaderName = Field("x-forwarded-user", description="Header with the person's id")
    groups_header: HeaderName = Field("x-forwarded-groups", description="Header with groups, separated by commas")


class Access(BaseModel):
    """Logins, and the audiences of the people who log in."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    everyone: Audiences = Field(default=(), description="Audiences of everybody who has logged in, besides public")
    groups: dict[ShortName, Audiences] = Field(
        default_factory=dict, description="Audiences of a group, role or team, by its name"
    )
    login: Login | None = Field(default=None, description="Login by OpenID Connect")
    proxy: Proxy | None = Field(default=None, description="Login by a proxy")

    @field_validator("proxy")
    @classmethod
    def _one_way(cls, value: Proxy | None, info: ValidationInfo) -> Proxy | None:
        if value and info.data.get("login"):
            raise ValueError("can't be declared beside `login`; keep the one by which people log in")
        return value

    def audiences_of(self, groups: tuple[str, ...]) -> tuple[str, ...]:
        """Return the audiences of a person in these groups, public first; groups that aren't declared give none."""
        given = [one for group in groups for one in self.groups.get(group, ())]
        return tuple(dict.fromkeys((PUBLIC, *self.everyone, *given)))


def load_access(path: Path) -> Access | None:
    """Return the declaration, None without such a file.

    Raises DeclarationError, which names file, line and key, and the nearest known name for a wrong one.
    """
    return read_model(path, Access, least="everyone", parts=(Login, Proxy))
