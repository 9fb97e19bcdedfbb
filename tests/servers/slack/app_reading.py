"""The methods of Slack's Web API that read: conversations, their members, people, and the bot's identity."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.servers.slack.app_workspace import BOT, BOT_USER, DOMAIN, SCOPE_WORD, TEAM, Json, Workspace, kind_of

Args = Mapping[str, Any]


class Refused(Exception):
    """The call ends with this error code."""

    def __init__(self, code: str, **more: object) -> None:
        super().__init__(code)
        self.code, self.more = code, more


class ReadMethods:
    """Answers the calls that change nothing, as far as the scopes and the bot's memberships allow."""

    def __init__(self, workspace: Workspace, scopes: set[str]) -> None:
        self.workspace = workspace
        self.scopes = scopes

    def _need(self, scopes: str) -> None:
        if scopes and not self.scopes.intersection(scopes.split(",")):
            raise Refused("missing_scope", needed=scopes, provided=",".join(sorted(self.scopes)))

    def _channel(self, args: Args, key: str = "channel", *, right: str = "") -> Json:
        name = str(args.get(key) or "")
        found = self.workspace.channels.get(name)
        if found is None and name in self.workspace.users and key == "channel" and not right:
            found = self.workspace.direct_with(name)
        if found is None:
            raise Refused("channel_not_found")
        if right:
            self._need(f"{SCOPE_WORD[kind_of(found)]}:{right}")
        if BOT_USER not in found["members"] and found["is_private"]:
            raise Refused("channel_not_found")
        return found

    def _auth_test(self, _: Args) -> Json:
        return {
            "ok": True,
            "url": f"https://{DOMAIN}.slack.com/",
            "team": "Acme",
            "user": "lore",
            "team_id": TEAM,
            "user_id": BOT_USER,
            "bot_id": BOT,
            "is_enterprise_install": False,
        }

    def _conversations_replies(self, args: Args) -> Json:
        channel = self._readable(args)
        found = self.workspace.thread(channel["id"], str(args.get("ts")))
        if not found:
            raise Refused("thread_not_found")
        return self._page([found[0], *within(found[1:], args)], args)

    def _conversations_history(self, args: Args) -> Json:
        channel = self._readable(args)
        found = within(self.workspace.top_level(channel["id"]), args)
        return self._page(found[::-1], args, default=100)

    def _readable(self, args: Args) -> Json:
        channel = self._channel(args, right="history")
        if BOT_USER not in channel["members"]:
            raise Refused("not_in_channel")
        return channel

    def _page(self, found: list[Json], args: Args, default: int = 1_000) -> Json:
        start = int(args.get("cursor") or 0)
        end = start + min(int(args.get("limit") or default), 999)
        tells = args.get("include_all_metadata") in (True, "true", "1", 1)
        kept = [one if tells else {k: v for k, v in one.items() if k != "metadata"} for one in found[start:end]]
        more = end < len(found)
        cursor = {"response_metadata": {"next_cursor": str(end)}} if more else {}
        return {"ok": True, "messages": kept, "has_more": more, **cursor}

    def _conversations_info(self, args: Args) -> Json:
        found = self._channel(args, right="read")
        shown = {name: value for name, value in found.items() if name != "members"}
        return {"ok": True, "channel": {**shown, "is_member": BOT_USER in found["members"]}}

    def _conversations_members(self, args: Args) -> Json:
        found = self._channel(args, right="read")["members"]
        start, limit = int(args.get("cursor") or 0), int(args.get("limit") or 100)
        end = start + limit
        cursor = str(end) if end < len(found) else ""
        return {"ok": True, "members": found[start:end], "response_metadata": {"next_cursor": cursor}}

    def _users_info(self, args: Args) -> Json:
        found = self.workspace.users.get(str(args.get("user")))
        if found is None:
            raise Refused("user_not_found")
        return {"ok": True, "user": found}

    def _users_conversations(self, args: Args) -> Json:
        types = str(args.get("types") or "public_channel").split(",")
        words = {"public_channel": "channel", "private_channel": "group", "im": "im", "mpim": "mpim"}
        if not set(types) <= set(words):
            raise Refused("invalid_types")
        for each in types:
            self._need(f"{SCOPE_WORD[words[each]]}:read")
        user = str(args.get("user") or BOT_USER)
        if user not in self.workspace.users:
            raise Refused("user_not_found")
        kinds = {words[each] for each in types}
        found = [one for one in self.workspace.channels.values() if user in one["members"] and kind_of(one) in kinds]
        found = [one for one in found if BOT_USER in one["members"] or not one["is_private"]]
        if args.get("exclude_archived") in (True, "true", "1"):
            found = [one for one in found if not one["is_archived"]]
        start, limit = int(args.get("cursor") or 0), int(args.get("limit") or 100)
        shown = [{name: value for name, value in one.items() if name != "members"} for one in found]
        cursor = str(start + limit) if start + limit < len(found) else ""
        return {"ok": True, "channels": shown[start : start + limit], "response_metadata": {"next_cursor": cursor}}


def within(messages: list[Json], args: Args) -> list[Json]:
    """Those between `oldest` and `latest`, as the arguments bound them."""
    oldest, latest = str(args.get("oldest") or ""), str(args.get("latest") or "")
    inclusive = args.get("inclusive") in (True, "true", "1", 1)

    def fits(ts: str) -> bool:
        if inclusive and ts in (oldest, latest):
            return True
        return (not oldest or float(ts) > float(oldest)) and (not latest or float(ts) < float(latest))

    return [one for one in messages if fits(one["ts"])]
