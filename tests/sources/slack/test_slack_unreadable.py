"""A channel of Slack that the app cannot see or is not in: it fails alone, and nothing of it is lost."""

from __future__ import annotations

import pytest
from lore.convert import convert
from lore.errors import SourceError
from lore.ingest.split.splitter import MarkdownSplitter
from lore.stores.lancedb.store import LanceStore
from lore.types import Recipe

from tests.fakes import FakeEmbedder
from tests.sources.slack.workspaces import say, source_of
from tests.syncs import make_sync


def out_of_it(slack):
    slack.channels[1]["is_member"] = False


def gone(slack):
    del slack.channels[1]


@pytest.mark.parametrize("change", [out_of_it, gone])
@pytest.mark.parametrize("name", ["deploys", "C2"])
def test_a_channel_that_cannot_be_read_fails_alone(slack, expected, change, name):
    change(slack)
    batches = list(source_of(slack, channels=["general", name]).read(None))
    assert {document.id for batch in batches for document in batch.documents} == {
        one for one in expected if ":C1:" in one
    }
    (failure,) = [failure for batch in batches for failure in batch.failures]
    assert failure.document_id in (f"slack:{name}", "slack:C2")
    assert "deploys" in failure.reason or name in failure.reason


def test_when_no_channel_can_be_read_that_is_an_error(slack):
    for channel in slack.channels:
        channel["is_member"] = False
    with pytest.raises(SourceError, match="not_in_channel"):
        list(source_of(slack, channels=["general", "deploys"]).read(None))
    slack.channels.clear()
    with pytest.raises(SourceError, match="no channel 'general'"):
        list(source_of(slack, channels=["general", "deploys"]).read(None))


def test_a_sync_keeps_what_a_channel_gave_and_goes_on_with_the_others(slack, expected, tmp_path):
    embedder = FakeEmbedder()
    store = LanceStore(str(tmp_path / "index"), Recipe(embedder.name, embedder.dimensions))

    def sync():
        source = source_of(slack, channels=["general", "deploys"])
        staging = str(tmp_path / "staging")
        return make_sync(
            source, store, embedder, MarkdownSplitter(800), convert, staging_uri=staging, max_failed_share=0.5
        ).run()

    assert sync().new == len(expected)
    slack.channels[1]["is_member"] = False
    slack.messages["C1"].append(say(2000, "Heard in the meantime"))
    report = sync()
    assert (report.status, report.new, report.removed) == ("warning", 1, 0)
    assert {failure.document_id for failure in report.failures} == {"slack:C2", "slack"}
    assert "/invite @lore in #deploys" in report.reason
    seen = len(slack.requests)
    assert sync().new == 0
    assert slack.calls(seen)["conversations.history"] < slack.calls()["conversations.history"] / 2
    slack.channels[1]["is_member"] = True
    slack.messages["C2"].append(say(3000, "Back again"))
    report = sync()
    assert (report.status, report.new, report.changed, report.removed) == ("ok", 1, 0, 0)
