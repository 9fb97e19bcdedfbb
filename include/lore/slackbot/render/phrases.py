"""What the bot says of itself, in one place. Constants are Markdown that is safe as it stands, as are the results."""

from __future__ import annotations

import math
from collections.abc import Sequence

__all__ = [
    "APOLOGY",
    "CONTINUES",
    "EMPTY",
    "FORGOT_NOTHING",
    "HANDED_OVER",
    "INDEX_UNREADABLE",
    "MISCONFIGURED",
    "MODEL_FAILED",
    "NEAREST",
    "NOT_KEPT",
    "NO_QUESTION",
    "PROMPTS_TITLE",
    "SEARCHING",
    "SOURCES",
    "STOPPED",
    "THANKS",
    "THINKING",
    "TRY_AGAIN",
    "UNTITLED",
    "WELCOME",
    "WRITING",
    "and_more",
    "channel_limit",
    "forgotten",
    "full",
    "nothing_in",
    "reading",
    "user_limit",
    "waiting",
]

# ---------------------------------------------------------------- while an answer is made (below the thread, no markup)

THINKING = "is reading the question…"
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
STOPPED = "I am being restarted and could not finish this answer. Please ask again in a minute."
HANDED_OVER = "I am being restarted. Your question is kept, and I answer it when I am back."
NO_QUESTION = "What would you like to know? Write your question after my name, or send it to me directly."
INDEX_UNREADABLE = (
    "I cannot read my index right now, so I cannot answer. This is not about your question; "
    "please try again in a few minutes."
)
MODEL_FAILED = "The language model did not answer, so I have no answer for you. Please try again in a few minutes."
MISCONFIGURED = "I am not set up correctly, so I cannot answer. Whoever runs me finds the reason in my log."
NOT_KEPT = "I could not keep your question, so I have not started on it. Please ask again in a few minutes."
TRY_AGAIN = "Something went wrong on my side, and I have no answer for you. Please try again in a few minutes."

# ---------------------------------------------------------------------------------------------------- feedback, privacy

THANKS = "Thank you. Your opinion is kept with the answer."
FORGOT_NOTHING = "I hold no record of your questions."

# ------------------------------------------------------------------------------------------------- the assistant's pane

WELCOME = (
    "Ask me about your team's documentation. I answer from the pages that I have read, and name them as sources. "
    "Where I find nothing, I say so."
)
PROMPTS_TITLE = "For example"


def reading(pages: int) -> str:
    """The status once a search is done, for that many passages."""
    return f"is reading {_counted(pages, 'passage')}…"


def waiting(place: int) -> str:
    """For a question that waits; the one that is answered next has place 1."""
    return f"I am busy. Your question is kept, and your place in the queue is {place}."


def full(queued: int) -> str:
    """For a question that is not taken, because as many are waiting as may."""
    waiting = f"{_counted(queued, 'question')} {_is(queued)} waiting"
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


def forgotten(answers: int) -> str:
    """Once a person's records are removed, that many of them."""
    if not answers:
        return FORGOT_NOTHING
    removed = f"{_counted(answers, 'answer')} and what you said of {_is(answers, 'it was', 'them were')} removed"
    return f"Done: {removed} from my records. The messages here in Slack stay until somebody deletes them."


def nothing_in(sources: Sequence[str]) -> str:
    """For an answer that was not found in these sources, by their ids."""
    return f"I found nothing in {', '.join(f'`{source}`' for source in sources)} that answers this."


def and_more(count: int) -> str:
    """The end of a list that is cut."""
    return f"and {count} more"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _is(number: int, one: str = "is", several: str = "are") -> str:
    return one if number == 1 else several


def _duration(seconds: float) -> str:
    """A time that is never said to be shorter than it is."""
    if seconds <= 60:
        return _counted(max(1, math.ceil(seconds)), "second")
    return _counted(math.ceil(seconds / 60), "minute")
