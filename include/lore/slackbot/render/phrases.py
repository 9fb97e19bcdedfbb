"""The bot's own words, but for the labels of buttons and of the modal.

Constants are Markdown that is safe as it is, as are the results of the functions.
"""

from __future__ import annotations

import math

__all__ = [
    "ABSENT",
    "APOLOGY",
    "CONTINUES",
    "EMPTY",
    "HELLO",
    "INDEX_UNREADABLE",
    "LOOKING",
    "MISCONFIGURED",
    "MODEL_FAILED",
    "NEAREST",
    "NOT_FORGOTTEN",
    "NOT_NOW",
    "NO_CONVERSATION",
    "NO_QUESTION",
    "RIGHTS_UNKNOWN",
    "SEARCHING",
    "SOURCES",
    "STOPPED",
    "TRY_AGAIN",
    "UNSURE",
    "UNTITLED",
    "WELCOME",
    "WRITING",
    "and_more",
    "forgotten",
    "full",
    "not_posted",
    "rate_limited",
    "reading",
    "shown_here",
    "waiting",
]

# ---------------------------------------------------------- the status while an answer is made (after the bot's name)

LOOKING = "is looking for an answer…"
SEARCHING = "is searching…"
WRITING = "is writing…"

# ----------------------------------------------------------------------------------------------------- around an answer

SOURCES = "Sources"
NEAREST = "Closest pages"
CONTINUES = "_Continued in the next message_"
UNTITLED = "Untitled page"
EMPTY = "_This answer has no text._"
RIGHTS_UNKNOWN = "I could only search public sources just now: Slack didn't say what you may see."
ABSENT = "I'm not a member of this channel, so I searched public sources only. Invite me to search its own."
NO_CONVERSATION = "I couldn't read the conversation just now, so I answered this message alone."

# ------------------------------------------------------------------------------------------------- instead of an answer

APOLOGY = "Sorry, I was interrupted and couldn't finish this answer. Please ask again if you still need it."
UNSURE = "I was interrupted and can't tell whether my answer reached you. If you don't see it, please ask again."
STOPPED = "I'm restarting and couldn't finish this answer. Please ask again in a minute."
NO_QUESTION = "What would you like to know? Type your question after my name, or send it to me directly."
INDEX_UNREADABLE = "Sorry, I can't read my index right now. It's not your question; please try again in a few minutes."
MODEL_FAILED = "Sorry, the language model didn't respond. Please try again in a few minutes."
MISCONFIGURED = "Sorry, I'm not set up correctly, so I can't answer. The reason is in my log, for whoever runs me."
TRY_AGAIN = "Sorry, something went wrong on my side. Please try again in a few minutes."
NOT_NOW = "Sorry, I can't take questions right now. Please ask again in a minute."

_REFUSALS = {
    "not_in_channel": "I'm not a member of that channel. Invite me, and ask again",
    "channel_not_found": "I'm not a member of that channel. Invite me, and ask again",
    "is_archived": "that channel is archived",
    "user_not_in_channel": "you aren't a member of that channel",
    "message_not_found": "the message is gone",
    "thread_not_found": "the message is gone",
}

# ------------------------------------------------------------------------------------------------- greetings, privacy

HELLO = (
    "Hello! Mention me with a question, and I answer in a thread. There you can go on without a mention. Only you see "
    "the answer to a slash command."
)
WELCOME = (
    "I answer questions from your team's documentation and link the pages I used. If I can't find an answer, I say so."
)
NOT_FORGOTTEN = "Sorry, I couldn't delete your data; the reason is in my log. Please try again later."


def reading(pages: int) -> str:
    """Return the status once a search has found that many passages."""
    return f"is reading {_counted(pages, 'passage')}…"


def waiting(place: int) -> str:
    """Return the status of a question that waits; the next one to be answered has place 1."""
    return f"is busy; you're number {place:,} in line…"


def full(queued: int) -> str:
    """Return the reply to a question that finds so many waiting that it isn't taken."""
    waiting = f"{_counted(queued, 'question')} {'is' if queued == 1 else 'are'} ahead of you"
    return f"Sorry, I'm too busy: {waiting}. Please ask again later."


def not_posted(code: str) -> str:
    """Return the direct message about a question whose answer Slack refused, with its error code."""
    return f"I couldn't answer your question where you asked it: {_refusal(code)}. You can ask me here."


def shown_here(code: str) -> str:
    """Return the beginning of a direct message that Slack refused to show to its reader alone, with the error code."""
    return f"I couldn't show you this where you asked: {_refusal(code)}."


def _refusal(code: str) -> str:
    return _REFUSALS.get(code, f"Slack refuses my messages there ({code})")


def rate_limited(scope: str, asked: int, seconds: float) -> str:
    """Return the reply to a person, or in a channel, after that many questions in ten minutes.

    `scope` is "person" or "channel"; the next question is allowed in so many seconds.
    """
    who = "You've" if scope == "person" else "This channel has"
    return f"{who} asked {_counted(asked, 'question')} in ten minutes. You can ask again in {_duration(seconds)}."


def forgotten(answers: int, opinions: int, *, waiting: bool = False, left: int = 0) -> str:
    """Return the reply once so many answers to a person, and opinions of theirs, are deleted.

    `waiting` is True if some answers weren't recorded yet, and `left` counts messages that Slack didn't delete.
    """
    removed = f"{_counted(answers, 'question')} with answers and {_counted(opinions, 'opinion')}"
    words = [f"Done: I deleted {removed}." if answers or opinions else "I have no data about you."]
    if waiting:
        words.append("Some answers were still being recorded: please send this again in a few minutes.")
    if left:
        words.append(f"Slack didn't let me delete {_counted(left, 'message')} to the people who run me.")
    words.append("Messages in Slack stay until somebody deletes them.")
    return " ".join(words)


def and_more(count: int) -> str:
    """Return the end of a list that is cut."""
    return f"and {count} more"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _duration(seconds: float) -> str:
    """Return a time, rounded up."""
    if seconds <= 60:
        return _counted(max(1, math.ceil(seconds)), "second")
    return _counted(math.ceil(seconds / 60), "minute")
