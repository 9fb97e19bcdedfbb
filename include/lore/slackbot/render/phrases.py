"""What the bot says of itself, in one place: only the labels of buttons and of the modal stand with these.

Constants are Markdown that is safe as it stands, as are the results.
"""

from __future__ import annotations

import math

__all__ = [
    "APOLOGY",
    "CONTINUES",
    "EMPTY",
    "INDEX_UNREADABLE",
    "LOOKING",
    "MISCONFIGURED",
    "MODEL_FAILED",
    "NEAREST",
    "NOT_FORGOTTEN",
    "NOT_NOW",
    "NO_QUESTION",
    "SEARCHING",
    "SOURCES",
    "STOPPED",
    "TRY_AGAIN",
    "UNSURE",
    "UNTITLED",
    "WELCOME",
    "WRITING",
    "and_more",
    "channel_limit",
    "forgotten",
    "full",
    "reading",
    "user_limit",
    "waiting",
]

# ---------------------------------------------------------------- while an answer is made (below the thread, no markup)

LOOKING = "is looking for an answer…"
SEARCHING = "is searching…"
WRITING = "is writing…"

# ----------------------------------------------------------------------------------------------------- around an answer

SOURCES = "Sources"
NEAREST = "Nearest pages"
CONTINUES = "_Continued in the next message_"
UNTITLED = "Untitled page"
EMPTY = "_There is no text in this answer._"

# ------------------------------------------------------------------------------------------------- instead of an answer

APOLOGY = (
    "Sorry, this answer was interrupted before it was complete, and it will not go on by itself. "
    "Please ask again if you still need it."
)
UNSURE = "I was interrupted, and cannot tell whether my answer reached you. If you do not see one, please ask again."
STOPPED = "I am being restarted and could not finish this answer. Please ask again in a minute."
NO_QUESTION = "What would you like to know? Write your question after my name, or send it to me directly."
INDEX_UNREADABLE = (
    "I cannot read my index right now, so I cannot answer. This is not about your question; "
    "please try again in a few minutes."
)
MODEL_FAILED = "The language model did not answer, so I have no answer for you. Please try again in a few minutes."
MISCONFIGURED = "I am not set up correctly, so I cannot answer. Whoever runs me finds the reason in my log."
TRY_AGAIN = "Something went wrong on my side, and I have no answer for you. Please try again in a few minutes."
NOT_NOW = "I cannot take questions at the moment. Please ask again in a minute."

# ------------------------------------------------------------------------------------------------- greetings, privacy

WELCOME = (
    "Ask me about your team's documentation. I answer from the pages that I have read, and name them as sources. "
    "Where I find nothing, I say so."
)
NOT_FORGOTTEN = "I could not remove what I hold of you; the reason is in my log. Please try again later."


def reading(pages: int) -> str:
    """The status once a search is done, for that many passages."""
    return f"is reading {_counted(pages, 'passage')}…"


def waiting(place: int) -> str:
    """The status of a question that waits; the one that is answered next has place 1."""
    return f"is busy, your place is {place:,}…"


def full(queued: int) -> str:
    """For a question that is not taken, because as many are waiting as may."""
    waiting = f"{_counted(queued, 'question')} {'is' if queued == 1 else 'are'} waiting"
    return f"I am busy: {waiting}, and I take no more for now. Please ask later."


def user_limit(asked: int, seconds: float) -> str:
    """For a person who asked that many questions in ten minutes and may ask again in so many seconds."""
    return f"You asked {_counted(asked, 'question')} in ten minutes; the next one may come in {_duration(seconds)}."


def channel_limit(asked: int, seconds: float) -> str:
    """For a channel that asked that many questions in ten minutes and may ask again in so many seconds."""
    return (
        f"This channel asked {_counted(asked, 'question')} in ten minutes; "
        f"the next one may come in {_duration(seconds)}."
    )


def forgotten(answers: int, opinions: int, *, waiting: bool = False, left: int = 0) -> str:
    """Once so many answers to a person and opinions of theirs are removed. `waiting` is True where some answers were
    not written down yet, and `left` counts messages that Slack did not delete.
    """
    removed = f"{_counted(answers, 'question')} with the answers, and {_counted(opinions, 'opinion')}"
    words = [f"Done: I removed {removed}." if answers or opinions else "I hold no record of you."]
    if waiting:
        words.append("Some answers were still being written down: please write this again in a few minutes.")
    if left:
        words.append(f"Slack did not let me delete {_counted(left, 'message')} to the people who look after me.")
    words.append("Messages here in Slack stay until somebody deletes them.")
    return " ".join(words)


def and_more(count: int) -> str:
    """The end of a list that is cut."""
    return f"and {count} more"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _duration(seconds: float) -> str:
    """A time that is never said to be shorter than it is."""
    if seconds <= 60:
        return _counted(max(1, math.ceil(seconds)), "second")
    return _counted(math.ceil(seconds / 60), "minute")
