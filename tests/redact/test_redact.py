"""Redaction: what is found and what stays, on texts, documents and whole syncs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from lore.convert import convert
from lore.errors import ConversionError, LoreError, SourceError
from lore.ingest.baseline.baseline import Baseline
from lore.ingest.split.splitter import MarkdownSplitter
from lore.ingest.sync import Sync
from lore.ingest.write.fingerprint import document_recipe, fingerprint
from lore.redact.redactor import Redactor
from lore.stores.lancedb.store import LanceStore
from lore.types import Batch, Document, Failure, Recipe

from tests.fakes import FakeEmbedder, FakeSource, make_document
from tests.redact.secret_cases import FALSE_CASES, Maker, checked, true_cases
from tests.syncs import make_sync

REDACTOR = Redactor()
CONTACTS = Redactor("secrets+contacts")
TOKEN = "gh" + "p_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
LOGIN = "Zx9vQq71"
EMULATOR_HOST = "db.corp.io"


def test_secrets_of_every_kind_are_taken_out() -> None:
    cases = list(true_cases())
    left = [(kind, text) for kind, text, secret in cases if secret in REDACTOR.text(text)]
    assert len(cases) >= 120
    assert len({kind for kind, _, _ in cases}) >= 30
    assert left == []


@pytest.mark.parametrize("text", FALSE_CASES)
def test_placeholders_and_plain_text_stay(text: str) -> None:
    assert REDACTOR.text(text) == text


def test_enough_texts_that_must_stay_are_tried() -> None:
    assert len(set(FALSE_CASES)) >= 120


def test_a_marker_names_the_kind_and_the_text_around_it_stays() -> None:
    assert REDACTOR.text(f"export T={TOKEN}\nmore") == "export T=[redacted: GitHub token]\nmore"
    before, after = "postgresql://app:", f"@{EMULATOR_HOST}/x"
    assert REDACTOR.text(before + LOGIN + after) == f"{before}[redacted: password]{after}"


def test_what_is_redacted_stays_as_it_is() -> None:
    for _, text, _ in true_cases():
        once = CONTACTS.text(text)
        assert CONTACTS.text(once) == once


def test_a_private_key_that_lost_its_end_is_taken_out() -> None:
    body = "\n".join(["MIIEowIBAAKCAQEAx5Zq9Kc2Vb7Nf3Td8Rw1Yh6Ug4Je0Sp5Lm2Xo7Ci9Ba3"] * 5)
    text = "-----BEGIN RSA PRIVATE" + f" KEY-----\n{body}\n\n(it was cut)"
    assert REDACTOR.text(text) == "[redacted: private key](it was cut)"


def test_the_pages_between_two_keys_stay() -> None:
    key = Maker(7).pem("PRIVATE" + " KEY")
    between = "\n\nA page of text, and -----BEGIN CERTIFICATE----- too.\n\n"
    assert REDACTOR.text(key + between + key) == f"[redacted: private key]{between}[redacted: private key]"


def test_a_token_whose_check_digits_fit_is_one_whatever_it_holds() -> None:
    token = "gh" + "p_" + checked("exampleexample" + "a1B2c3D4e5F6g7H8")
    assert REDACTOR.text(token) == "[redacted: GitHub token]"
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    assert REDACTOR.text(wrong) == wrong


# ------------------------------------------------------------------------------------------------------------ contacts


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ask anna.b+x@corp.de.", "Ask [redacted: e-mail address]."),
        ("E-mail:anna@corp.de, FROM=bob@corp.de", "E-mail:[redacted: e-mail address], FROM=[redacted: e-mail address]"),
        (r'"a\n@ray.remote\nanna@corp.de"', r'"a\n@ray.remote\n[redacted: e-mail address]"'),
        ("<mailto:anna@corp.co.uk>", "<mailto:[redacted: e-mail address]>"),
        ("Call +49 30 1234567, or +1 (415) 555-2671.", "Call [redacted: phone number], or [redacted: phone number]."),
        ("tel:+14155552671", "tel:[redacted: phone number]"),
        *(
            (text, text)
            for text in (
                "git@github.com:apache/airflow.git",
                "user@example.com and me@host.example and root@localhost",
                "postgresql://user:password@db.corp.io/x",
                "@pytest.mark.skip and @app.get and a@b",
                "2024-01-01T00:00:00+01:00 and UTC+0200, 1+1, C++ 20240101",
                "x@1.2.3 and package@latest",
                "diff +12345678 and a+1234567890123",
                "030 1234567",
            )
        ),
    ],
)
def test_addresses_of_people_by_setting(text: str, expected: str) -> None:
    assert CONTACTS.text(text) == expected
    assert REDACTOR.text(text) == text


def test_without_redaction_nothing_changes() -> None:
    page = make_document(text=TOKEN, url=f"https://u:{LOGIN}@corp.io/")
    assert Redactor("none").document(page) is page
    assert Redactor("none").text(TOKEN) == TOKEN


# ----------------------------------------------------------------------------------------------------------- documents


def test_every_part_of_a_document_is_redacted() -> None:
    page = make_document(
        name=f"https://corp.io/x?token={TOKEN}",
        text=f"a {TOKEN}",
        title=f"b {TOKEN}",
        url=f"https://build:{LOGIN}@corp.io/x?token={TOKEN}&page=2",
        metadata={"author": {"token": "q8W7e6R5t4Y3u2I1o0P9a8S7"}, "lines": [f"c {TOKEN}", 7, None], "labels": ["bug"]},
    )
    redacted = REDACTOR.document(page)
    assert redacted.id == "fake:https://corp.io/x?token=redacted"
    assert redacted.url == "https://build:redacted@corp.io/x?token=redacted&page=2"
    assert (redacted.title, redacted.text) == ("b [redacted: GitHub token]", "a [redacted: GitHub token]")
    assert redacted.metadata == {
        "author": {"token": "[redacted: access token]"},
        "lines": ["c [redacted: GitHub token]", 7, None],
        "labels": ["bug"],
    }
    assert REDACTOR.document(redacted) == redacted


@pytest.mark.parametrize(
    "charset", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le", "gb18030", "iso-2022-jp", "hz"]
)
def test_bytes_of_text_are_redacted_in_every_charset(charset: str) -> None:
    letters = {"gb18030": "这是一个页面，有很多的字。", "iso-2022-jp": "これはページです。", "hz": "a~~b"}.get(
        charset, "Grüße aus Köln"
    )
    html = f'<meta charset="{charset}"><title>T</title><p>{letters} {TOKEN}</p>'
    page = make_document(text="", title="", format="html", data=html.encode(charset))
    redacted = REDACTOR.document(page)
    assert TOKEN not in convert(redacted).text
    assert f"{letters} [redacted: GitHub token]" in convert(redacted).text.replace("\\", "")
    assert TOKEN.encode() not in (redacted.data or b"") and TOKEN.encode("utf-16-le") not in (redacted.data or b"")


def test_bytes_without_secrets_stay_the_same_object() -> None:
    data = "Grüße".encode("cp1252")
    assert REDACTOR.document(make_document(text="", format="text", data=data)).data is data


def test_bytes_that_are_no_text_are_redacted_where_they_are_ascii() -> None:
    data = bytes(range(32)) * 20 + TOKEN.encode()
    with pytest.raises(ConversionError):
        convert(make_document(text="", format="text", data=data))
    redacted = REDACTOR.document(make_document(text="", format="text", data=data)).data
    assert redacted == bytes(range(32)) * 20 + b"[redacted: GitHub token]"


def test_a_notebook_stays_one() -> None:
    source = ["import os\n", f"token = '{TOKEN}'\n", f"url = 'https://u:{LOGIN}@corp.io/'\n"]
    cells = [{"cell_type": "code", "source": source, "outputs": [], "metadata": {}, "execution_count": 1}]
    notebook = json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})
    page = convert(REDACTOR.document(make_document(text=notebook, format="notebook")))
    assert "token = '[redacted: GitHub token]'" in page.text
    assert "url = 'https://u:[redacted: password]@corp.io/'" in page.text


# --------------------------------------------------------------------------------------------------------------- syncs


class Watched(MarkdownSplitter):
    """Sees the staging area while a sync goes on."""

    def __init__(self, staging: Path) -> None:
        super().__init__(300)
        self.staging = staging
        self.staged = ""

    def split(self, document: Document):  # type: ignore[no-untyped-def]
        for shard in self.staging.rglob("*.gz"):
            self.staged += gzip.decompress(shard.read_bytes()).decode()
        for manifest in self.staging.rglob("*.json"):
            self.staged += manifest.read_text()
        return super().split(document)


class Site:
    """A store, and syncs of one source into it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.embedder = FakeEmbedder()
        self.store = LanceStore(str(folder / "index"), Recipe(self.embedder.name, self.embedder.dimensions))
        self.splitter = Watched(folder / "staging")

    def sync(self, source: FakeSource, redactor: Redactor | None = None) -> Sync:
        staging = str(self.folder / "staging")
        return make_sync(
            source, self.store, self.embedder, self.splitter, convert, staging_uri=staging, max_failed_share=1.0,
            redactor=redactor or Redactor(),
        )  # fmt: skip

    def everything(self) -> str:
        state = self.store.state("fake")
        documents = [repr(document) for document in self.store.documents()]
        return "\n".join((*documents, repr(state), *self.embedder.embedded, self.splitter.staged))


def test_a_secret_reaches_neither_staging_nor_index_nor_report(tmp_path: Path) -> None:
    site = Site(tmp_path)
    html = f"<title>Page</title><p>The key is {TOKEN} today.</p>".encode()
    pages = (
        make_document("a", f"# A\n\nThe key is {TOKEN} today.", metadata={"note": TOKEN}),
        make_document("b", "", format="html", data=html),
        make_document("c", f"# C\n\n{TOKEN}", format="unknown"),
    )
    failures = (Failure("fake:d", f"https://u:{LOGIN}@corp.io/ answered 500"),)
    report = site.sync(FakeSource([Batch(pages, cursor="1", failures=failures)])).run()
    assert report.new == 2
    assert len(report.failures) == 2
    assert "[redacted: GitHub token]" in site.everything()
    assert "https://u:[redacted: password]@corp.io/ answered 500" in str(report)
    for secret in (TOKEN, LOGIN):
        assert secret not in site.everything()
        assert secret not in str(report) + json.dumps(report.to_json())
    everything = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert TOKEN.encode() not in everything


def test_a_secret_that_only_conversion_shows_does_not_reach_the_index(tmp_path: Path) -> None:
    site = Site(tmp_path)
    broken = TOKEN[:10] + "<b></b>" + TOKEN[10:]
    site.sync(
        FakeSource([Batch((make_document("a", f"<title>A</title><p>Use {broken} now</p>", format="html"),))])
    ).run()
    (page,) = site.store.documents()
    assert "[redacted: GitHub token]" in page.text


def test_an_address_with_a_secret_is_one_document_through_all_syncs(tmp_path: Path) -> None:
    site = Site(tmp_path)
    first, second = (make_document(f"https://corp.io/{name}?token={TOKEN}", "# T\n\ntext") for name in "xy")
    assert site.sync(FakeSource([Batch((first, second), cursor="1")])).run().new == 2
    again = site.sync(FakeSource([Batch((first, second), cursor="2")])).run()
    assert (again.unchanged, again.removed) == (2, 0)
    assert site.sync(FakeSource([Batch((), deleted_ids=(first.id,))], listing=[first.id, second.id])).run().removed == 1
    assert site.sync(FakeSource([Batch((second,))], listing=[second.id])).run().removed == 0


def test_another_setting_makes_documents_anew(tmp_path: Path) -> None:
    site = Site(tmp_path)
    pages = Batch((make_document("a", "Ask anna@corp.de"), make_document("b", "No address")), cursor="1")
    site.sync(FakeSource([pages])).run()
    embedded = len(site.embedder.embedded)
    source = FakeSource([pages])
    assert site.sync(source, CONTACTS).run().changed == 2
    assert source.reads == [None]
    assert len(site.embedder.embedded) == embedded + 1
    assert {page.text for page in site.store.documents()} == {"Ask [redacted: e-mail address]", "No address"}
    assert site.sync(FakeSource([pages]), CONTACTS).run().unchanged == 2


def test_errors_of_a_source_are_remembered_without_secrets(tmp_path: Path) -> None:
    site = Site(tmp_path)
    site.sync(FakeSource([Batch((make_document(),), cursor="1")])).run()
    error = SourceError(f"https://u:{LOGIN}@corp.io/ did not answer.", remedy="Wait.", retryable=True)
    page = make_document("b", "# B\n\nmore")
    batches: list[Batch | LoreError]
    for batches in ([Batch((page,), cursor="2"), error], [error]):
        with pytest.raises(SourceError):
            site.sync(FakeSource(batches)).run()
        state = site.store.state("fake")
        assert state is not None
        assert "[redacted: password]@corp.io" in str(state.report)
        assert LOGIN not in str(state)


def test_what_conversion_says_of_a_failure_is_redacted(tmp_path: Path) -> None:
    def fails(page: Document) -> Document:
        error = ConversionError if page.title == "known" else ValueError
        raise error(f"https://u:{LOGIN}@corp.io/ is not included.")

    site = Site(tmp_path)
    pages = (make_document("a", title="known"), make_document("b", title="other"))
    staging = str(tmp_path / "staging")
    sync = make_sync(
        FakeSource([Batch(pages)]), site.store, site.embedder, site.splitter, fails, staging_uri=staging,
        max_failed_share=1.0,
    )  # fmt: skip
    reasons = [failure.reason for failure in sync.run().failures]
    assert len(reasons) == 2
    assert all("https://u:[redacted: password]@corp.io/" in reason for reason in reasons)


def test_a_baseline_of_another_setting_is_redacted_when_it_is_imported(tmp_path: Path) -> None:
    open_site, closed_site = Site(tmp_path / "open"), Site(tmp_path / "closed")
    pages = (make_document("a", f"The key is {TOKEN} today."), make_document("b", "No key"))
    open_site.sync(FakeSource([Batch(pages, cursor="1")]), Redactor("none")).run()
    baselines = [
        Baseline(site.store, site.embedder, site.splitter, staging_uri=str(tmp_path / "staging"), redactor=redactor)
        for site, redactor in ((open_site, Redactor("none")), (closed_site, REDACTOR))
    ]
    baselines[0].export(tmp_path / "file.parquet")
    report = baselines[1].load(tmp_path / "file.parquet")
    assert (report.same_converter, report.cursors, report.embedded_texts) == (False, (), 1)
    assert TOKEN in open_site.everything()
    assert TOKEN not in closed_site.everything()
    assert "[redacted: GitHub token]" in closed_site.everything()


def test_the_fingerprint_depends_on_what_is_redacted() -> None:
    names = [Redactor(policy).name for policy in ("none", "secrets", "secrets+contacts")]
    assert len({fingerprint(make_document(), document_recipe(name)) for name in names}) == 3
    assert fingerprint(make_document(), document_recipe("")) == fingerprint(make_document())


@pytest.mark.parametrize(
    "piece",
    ["password=", "api_key:", "token=a1B2", "sig=", "ya29.", "sk-proj-", " eyJ", "eyJaaaaaaaaaa.", "8Q~", "://a:",
     "a@a.", "+1 1 1 1 ", "-----BEGIN PRIVATE KEY-----\nABCD", "curl -u a:bbbb ", "token \t",
     "discord MTIzNDU2Nzg5MDEyMzQ1Njc4.", "AccountKey=", "masterkey: ", " --user "],
)  # fmt: skip
def test_repetitions_are_no_secrets_and_take_linear_time(piece: str) -> None:
    text = piece * (200_000 // len(piece))
    assert CONTACTS.text(text) == text


# ---------------------------------------------------------------------------------------------------------- real texts


def test_airflows_documentation_loses_nothing(shared_data: Path) -> None:
    pages = sorted((shared_data / "sources" / "airflow_docs").rglob("*.rst"))
    assert len(pages) > 100
    changed = {page.name for page in pages if REDACTOR.text(text := page.read_text()) != text}
    assert changed == set()
