"""The methods of Slack's Web API that the bot calls, and the rules that they refuse by: messages, streams, modals."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.servers.slack.app_reading import Args, ReadMethods, Refused
from tests.servers.slack.app_rules import MARKDOWN_SUM, check_blocks, check_message, check_metadata, check_view
from tests.servers.slack.app_workspace import APP, BOT, BOT_USER, DOMAIN, TEAM, Json, Workspace

NEEDED = {
    "chat.postMessage": "chat:write",
    "chat.postEphemeral": "chat:write",
    "chat.update": "chat:write",
    "chat.delete": "chat:write",
    "chat.startStream": "chat:write",
    "chat.appendStream": "chat:write",
    "chat.stopStream": "chat:write",
    "assistant.threads.setStatus": "assistant:write,chat:write",
    "assistant.threads.setSuggestedPrompts": "assistant:write",
    "users.info": "users:read",
}
"""The scope of each method, or several of which one is enough; those of conversations depend on their kind."""


class Methods(ReadMethods):
    """Answers calls for the bot. `happened` is told of each message that came, changed or went."""

    def __init__(self, workspace: Workspace, scopes: set[str], happened: Callable[[str, str, Json], None]) -> None:
        super().__init__(workspace, scopes)
        self.happened = happened
        self.statuses: list[tuple[str, str, str]] = []
        self.status: dict[tuple[str, str], str] = {}
        self.prompts: dict[tuple[str, str], Json] = {}
        self.ephemeral: list[Json] = []
        self.views: list[Json] = []
        self.triggers: dict[str, str] = {}
        """Triggers that may open a modal yet, with whose they are."""

    def answer(self, method: str, args: Args) -> Json:
        """What the method answers. Raises Refused."""
        found = getattr(self, "_" + method.replace(".", "_"), None)
        if found is None:
            raise Refused("unknown_method", req_method=method)
        self._need(NEEDED.get(method, ""))
        answer: Json = found(args)
        return answer

    # -------------------------------------------------------------------------------------------------------- places

    def _writable(self, args: Args) -> Json:
        found = self._channel(args)
        if found["is_archived"]:
            raise Refused("is_archived")
        if BOT_USER not in found["members"]:
            raise Refused("not_in_channel")
        return found

    def _thread_ts(self, channel: Json, args: Args) -> str:
        ts = str(args.get("thread_ts") or "")
        if ts and self.workspace.message(channel["id"], ts) is None:
            raise Refused("thread_not_found")
        return ts

    def _own(self, channel: Json, args: Args, otherwise: str) -> Json:
        message = self.workspace.message(channel["id"], str(args.get("ts")))
        if message is None:
            raise Refused("message_not_found")
        if message.get("bot_id") != BOT:
            raise Refused(otherwise)
        return message

    # ---------------------------------------------------------------------------------------------------------- chat

    def _post(self, channel: Json, thread_ts: str, **content: Any) -> Json:
        message: Json = {
            "type": "message",
            "user": BOT_USER,
            "bot_id": BOT,
            "app_id": APP,
            "bot_profile": {"id": BOT, "app_id": APP, "name": "Lore", "team_id": TEAM, "deleted": False},
            **({"thread_ts": thread_ts} if thread_ts else {}),
            **{name: value for name, value in content.items() if value},
        }
        message = self.workspace.add(channel["id"], message)
        if thread_ts and (channel["id"], thread_ts) in self.status:
            self._set_status(channel["id"], thread_ts, "")
        self.happened("added", channel["id"], message)
        return message

    def _blocks(self, args: Args) -> list[Json]:
        names = (self.workspace.next_id("b") for _ in iter(int, 1))
        return [{"block_id": next(names), **block} for block in args.get("blocks") or []]

    def _chat_postMessage(self, args: Args) -> Json:
        channel = self._writable(args)
        if error := check_message(args):
            raise Refused(error)
        content = {"text": args.get("text") or args.get("markdown_text") or "", "blocks": self._blocks(args)}
        message = self._post(channel, self._thread_ts(channel, args), **content, metadata=args.get("metadata"))
        return {"ok": True, "channel": channel["id"], "ts": message["ts"], "message": message}

    def _chat_postEphemeral(self, args: Args) -> Json:
        channel = self._writable(args)
        if args.get("user") not in channel["members"]:
            raise Refused("user_not_in_channel")
        if error := check_message(args):
            raise Refused(error)
        self._thread_ts(channel, args)
        ts = self.workspace.next_ts()
        self.ephemeral.append({**args, "ts": ts})
        return {"ok": True, "message_ts": ts}

    def _chat_update(self, args: Args) -> Json:
        channel = self._writable(args)
        message = self._own(channel, args, "cant_update_message")
        if message.get("streaming_state") == "in_progress":
            raise Refused("streaming_state_conflict")
        if error := check_message(args, update=True):
            raise Refused(error)
        before = dict(message)
        message["text"] = args.get("text") or args.get("markdown_text") or ""
        if "blocks" in args:
            message["blocks"] = self._blocks(args)
        if args.get("metadata") is not None:
            message["metadata"] = args["metadata"]
        message["edited"] = {"user": BOT_USER, "ts": self.workspace.next_ts()}
        self.happened("changed", channel["id"], {"message": message, "previous_message": before})
        return {"ok": True, "channel": channel["id"], "ts": message["ts"], "text": message["text"], "message": message}

    def _chat_delete(self, args: Args) -> Json:
        channel = self._writable(args)
        message = self._own(channel, args, "cant_delete_message")
        self.workspace.remove(channel["id"], message["ts"])
        self.happened("deleted", channel["id"], message)
        return {"ok": True, "channel": channel["id"], "ts": message["ts"]}

    def _chat_getPermalink(self, args: Args) -> Json:
        channel, ts = self._channel(args), str(args.get("message_ts"))
        message = self.workspace.message(channel["id"], ts)
        if message is None:
            raise Refused("message_not_found")
        link = f"https://{DOMAIN}.slack.com/archives/{channel['id']}/p{ts.replace('.', '')}"
        if message.get("thread_ts", ts) != ts:
            link += f"?thread_ts={message['thread_ts']}&cid={channel['id']}"
        return {"ok": True, "channel": channel["id"], "permalink": link}

    # -------------------------------------------------------------------------------------------------------- streams

    def _chat_startStream(self, args: Args) -> Json:
        channel = self._writable(args)
        thread_ts = self._thread_ts(channel, args)
        if not thread_ts:
            raise Refused("invalid_thread_ts")
        if not channel["is_im"]:
            for key in ("recipient_team_id", "recipient_user_id"):
                if not args.get(key):
                    raise Refused(f"missing_{key}")
        text = self._markdown(args, "")
        message = self._post(channel, thread_ts, text=text, streaming_state="in_progress")
        return {"ok": True, "channel": channel["id"], "ts": message["ts"]}

    def _chat_appendStream(self, args: Args) -> Json:
        channel, message = self._streaming(args)
        if not args.get("markdown_text"):
            raise Refused("no_text")
        message["text"] = self._markdown(args, message.get("text", ""))
        self.happened("streamed", channel["id"], message)
        return {"ok": True, "channel": channel["id"], "ts": message["ts"]}

    def _chat_stopStream(self, args: Args) -> Json:
        channel, message = self._streaming(args)
        text = self._markdown(args, message.get("text", ""))
        streamed = [{"type": "markdown", "text": text}] if text else []
        blocks = [*streamed, *self._blocks(args)]
        if error := check_blocks(blocks) or check_metadata(args.get("metadata")):
            raise Refused(error)
        message.update(text=text, blocks=blocks, streaming_state="completed")
        if args.get("metadata") is not None:
            message["metadata"] = args["metadata"]
        self.happened("streamed", channel["id"], message)
        return {"ok": True, "channel": channel["id"], "ts": message["ts"], "message": message}

    def _streaming(self, args: Args) -> tuple[Json, Json]:
        channel = self._writable(args)
        message = self._own(channel, args, "message_not_owned_by_app")
        if message.get("streaming_state") != "in_progress":
            raise Refused("message_not_in_streaming_state")
        return channel, message

    def _markdown(self, args: Args, before: str) -> str:
        piece = str(args.get("markdown_text") or "")
        if len(piece) > MARKDOWN_SUM or len(before) + len(piece) > MARKDOWN_SUM:
            raise Refused("msg_too_long")
        return before + piece

    # ------------------------------------------------------------------------------------------------------ assistant

    def _assistant_threads_setStatus(self, args: Args) -> Json:
        channel = self._channel(args, "channel_id")
        if not args.get("thread_ts") or self.workspace.message(channel["id"], str(args["thread_ts"])) is None:
            raise Refused("invalid_thread_ts")
        self._set_status(channel["id"], str(args["thread_ts"]), str(args.get("status") or ""))
        return {"ok": True}

    def _set_status(self, channel: str, thread_ts: str, status: str) -> None:
        self.statuses.append((channel, thread_ts, status))
        if status:
            self.status[channel, thread_ts] = status
        else:
            self.status.pop((channel, thread_ts), None)

    def _assistant_threads_setSuggestedPrompts(self, args: Args) -> Json:
        channel = self._channel(args, "channel_id")
        prompts = args.get("prompts")
        if not isinstance(prompts, list) or not 0 < len(prompts) <= 4:
            raise Refused("invalid_arguments")
        if not all(isinstance(one, Mapping) and one.get("title") and one.get("message") for one in prompts):
            raise Refused("invalid_arguments")
        if not channel["is_im"]:
            raise Refused("channel_type_not_supported")
        self.prompts[channel["id"], str(args.get("thread_ts") or "")] = dict(args)
        return {"ok": True}

    # --------------------------------------------------------------------------------------------------------- modals

    def _views_open(self, args: Args) -> Json:
        trigger = str(args.get("trigger_id"))
        if trigger not in self.triggers:
            raise Refused("invalid_trigger_id")
        if not self.triggers[trigger]:
            raise Refused("exchanged_trigger_id")
        if error := check_view(args.get("view")):
            raise Refused(error)
        user, self.triggers[trigger] = self.triggers[trigger], ""
        view = {**args["view"], "id": self.workspace.next_id("V"), "team_id": TEAM, "app_id": APP, "bot_id": BOT}
        view = {"state": {"values": {}}, "hash": "1.a", "callback_id": "", "private_metadata": "", **view}
        self.views.append({**view, "opened_for": user})
        return {"ok": True, "view": view}
