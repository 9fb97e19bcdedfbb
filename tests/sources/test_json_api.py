"""Lists of items in JSON, read from a local server with every rule of paging, and its faults."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lore.declarations import JsonApiDeclaration, load_declaration
from lore.errors import ConfigurationError, DeclarationError, SourceError
from lore.settings import load_settings
from lore.sources.http.json_client import Secrets, secrets_for
from lore.sources.http.retries import RetryPolicy
from lore.sources.json_api.source import JsonApiSource
from lore.wiring.sources import make_source

from tests.contracts.source import SourceContract, failed, ids, last_cursor
from tests.servers.json_api import Fault, ListServer

PAGING = {
    "none": {},
    "page": {},
    "offset": {},
    "next": {"next": "meta.next"},
    "link": {},
    "cursor": {"next": "meta.cursor"},
}


def item(number: int, **more: object) -> dict[str, object]:
    return {"name": f"module-{number}", "about": f"Module {number} does things.", "tags": ["a", "b"]} | more


def declared(server_url: str, **options: object) -> JsonApiDeclaration:
    values = {
        "id": "registry",
        "url": f"{server_url}/items",
        "items": "results",
        "item_id": "{name}",
        "item_title": "The {name}",
        "item_text": "{about}",
    }
    return JsonApiDeclaration(**(values | options))


def source_of(server, secrets=None, max_retries=1, waits=None, timeout=5.0, **options) -> JsonApiSource:
    options = {"paging": server.paging} | PAGING[server.paging] | options
    return JsonApiSource(
        declared(server.base_url, **options),
        secrets=secrets,
        timeout=timeout,
        retries=RetryPolicy(max_retries, sleep=(waits if waits is not None else []).append),
    )


def documents(source, since=None):
    return {document.id.partition(":")[2]: document for batch in source.read(since) for document in batch.documents}


def deleted(batches):
    return [one for batch in batches for one in batch.deleted_ids]


class TestContract(SourceContract):
    listable = False

    @pytest.fixture(params=PAGING)
    def server(self, request):
        with ListServer([item(n) for n in range(1, 36)], paging=request.param) as server:
            yield server

    @pytest.fixture
    def source(self, server):
        return source_of(server)

    @pytest.fixture
    def change(self, server):
        def change():
            server.items[14] |= {"about": "Something else."}
            return "registry:module-15"

        return change


# ---------------------------------------------------------------------------------------------- items and templates


def test_an_item_becomes_a_document_by_the_templates():
    row = {
        "namespace": "acme",
        "name": "vpc & more",
        "description": "A network.",
        "inputs": [{"name": "cidr", "type": "string"}, {"name": "zones", "type": "list"}],
        "tags": ["net", None, "aws"],
        "owner": {"team": "core", "mail": None},
        "stable": True,
        "downloads": 12,
        "published": "2026-03-01T10:00:00+02:00",
    }
    with ListServer([row]) as server:
        (document,) = documents(
            source_of(
                server,
                item_id="{namespace}/{name}",
                item_title="{name} ({owner.team})",
                item_url="/modules/{namespace}/{name}",
                item_text=(
                    "{description}\n\nTags: {tags} {{braces}}\n\n## Inputs\n\n{inputs[].join(': ', [name, type])}\n\n"
                    "Owner {owner}. Stable {stable}, {downloads} downloads, {missing || 'none'} missing. {'}'}"
                ),
                item_updated_at="published",
                audiences=["staff"],
            )
        ).values()
        base = server.base_url
    assert document.id == "registry:acme/vpc%20%26%20more"
    assert document.title == "vpc & more (core)"
    assert document.url == f"{base}/modules/acme/vpc%20%26%20more"
    assert document.text == (
        "A network.\n\nTags: net, aws {braces}\n\n## Inputs\n\n- cidr: string\n- zones: list\n\n"
        "Owner team: core. Stable true, 12 downloads, none missing. }\n"
    )
    assert document.updated_at == datetime(2026, 3, 1, 8, tzinfo=UTC)
    assert (document.format, document.audiences) == ("markdown", ("staff",))


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{name}{name}", "aa"),
        ("{ {n: name, t: tags[0]} }", "n: a, t: x"),
        ("{{{name}}}", "{a}"),
        ("{join('{', tags)} {tags[?@ == '}']}", "x{} }"),
        ('{`{"k": "}"}`.k}', "}"),
        ("{tags}", "x, }"),
        ("Tags:\n{tags}\nend", "Tags:\n- x\n- }\nend"),
        ("{length(tags)} {missing} {nested.deep[].v} {nested}", "2  1, 2 deep: v: 1, v: 2"),
        ("{'{name}'}", "{name}"),
    ],
)
def test_templates(template, expected):
    row = {"name": "a", "tags": ["x", "}"], "nested": {"deep": [{"v": 1}, {"v": 2}], "none": None}}
    with ListServer([row]) as server:
        (document,) = documents(source_of(server, item_text=template)).values()
    assert document.text == f"{expected}\n"


def test_a_value_is_no_template():
    with ListServer([item(1, about="{name} {{x}}")]) as server:
        (document,) = documents(source_of(server)).values()
    assert document.text == "{name} {{x}}\n"


@pytest.mark.parametrize(
    ("form", "text", "expected"),
    [
        ("markdown", "# A\n\n*b* <i>c</i>", ("markdown", "# A\n\n*b* <i>c</i>\n")),
        ("html", "<h2>A</h2><p><a href='/x'>b</a><script>c</script>", ("markdown", "## A\n\n[b](BASE/x)\n")),
        ("text", "a *b*", ("text", "a *b*\n")),
        ("rst", ".. note:: a", ("rst", ".. note:: a\n")),
    ],
)
def test_the_declared_format_counts(form, text, expected):
    with ListServer([item(1, about=text)]) as server:
        (document,) = documents(source_of(server, item_format=form)).values()
        assert (document.format, document.text.replace(server.base_url, "BASE")) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("https://example.com/a b", "https://example.com/a%20b"),
        ("https://example.com/ü?q=1&r=%20", "https://example.com/%C3%BC?q=1&r=%20"),
        ("/relative", "BASE/relative"),
        ("javascript:alert(1)", ""),
        ("http://[half", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_an_address_is_a_web_address_or_none(value, expected):
    with ListServer([item(1, link=value)]) as server:
        (document,) = documents(source_of(server, item_url="{link}")).values()
        assert document.url.replace(server.base_url, "BASE") == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1_772_359_200, datetime(2026, 3, 1, 10, tzinfo=UTC)),
        (1_772_359_200_000, datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("1772359200", datetime(2026, 3, 1, 10, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
        ("yesterday", None),
        ("9999-12-31T23:59:59-14:00", None),
        (10**30, None),
        (True, None),
        ([], None),
    ],
)
def test_a_time_is_read_however_it_is_written(value, expected):
    with ListServer([item(1, at=value)]) as server:
        (document,) = documents(source_of(server, item_updated_at="at")).values()
    assert document.updated_at == expected


def test_items_that_cannot_be_rendered_fail_alone_and_by_name():
    rows = [
        item(1),
        item(2, tags=None),
        item(3, name=None),
        item(4, name="x" * 501),
        item(1, about="Another with the same id."),
        item(1),
        "text",
        None,
        item(5, about="\ud800 half"),
    ]
    with ListServer(rows) as server:
        batches = list(source_of(server, item_text="{about} {join(' ', tags)}").read(None))
        url = f"registry:{server.base_url}/items"
    assert ids(batches) == ["registry:module-1", "registry:module-5"]
    reasons = {failure.document_id: failure.reason for batch in batches for failure in batch.failures}
    assert "`item_text`" in reasons["registry:module-2"]
    assert "`item_id` gives nothing" in reasons[f"{url}#3"]
    assert "500 characters" in reasons[f"{url}#4"]
    assert "same id" in reasons["registry:module-1#5"]
    assert set(reasons) == {"registry:module-2", f"{url}#3", f"{url}#4", "registry:module-1#5", f"{url}#7", f"{url}#8"}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("items: 'results['", "`items` has invalid JMESPath"),
        ("items: uper(results)", "`items` has an unknown function 'uper'"),
        ("items: 'results[?contains(name)]'", r"`items` passes 1 arguments to contains\(\)"),
        ("items: 'map(&uper(@), results)'", "unknown function 'uper'"),
        ('item_title: "{name"', r"`item_title` has a \{ without a \}"),
        ('item_title: "name}"', r"`item_title` has a \} without a \{"),
        ('item_title: "{}"', "`item_title` has invalid JMESPath"),
        ('item_title: "{name || }"', "`item_title` has invalid JMESPath"),
        ("item_updated_at: 5", "`item_updated_at`"),
        ("paging: next", "`next` is required with `paging: next`"),
        ("next: meta.next", "`next` has no effect with `paging: none`"),
        ("page_parameter: p", "`page_parameter` has no effect"),
        ("page_size: 5", "`page_size` and `size_parameter` belong together"),
        ("paging: pages", "`paging`"),
        ("item_format: docx", "`item_format`"),
        ("url: ftp://example.com", "`url` is an invalid web address"),
        ("url: https://u:p@example.com", "`url` holds a password or key"),
        ("url: https://example.com/?api_key=k-123", "`url` holds a password or key"),
        ("item_txt: x", "unknown key `item_txt`"),
    ],
)
def test_what_is_wrong_is_seen_when_the_declaration_is_loaded(tmp_path: Path, line, said):
    path = tmp_path / "registry.yaml"
    values = {"url": "https://example.com/items", "item_id": '"{name}"', "item_text": '"{about}"'}
    key = line.partition(":")[0]
    rest = "\n".join(f"{name}: {value}" for name, value in values.items() if name != key)
    path.write_text(f"kind: json_api\n{line}\n{rest}\n")
    with pytest.raises(DeclarationError, match=said) as caught:
        load_declaration(path)
    assert "registry.yaml, line" in str(caught.value)
    assert "k-123" not in str(caught.value)


def test_a_declaration_is_the_data_that_it_was(tmp_path: Path):
    path = tmp_path / "registry.yaml"
    path.write_text(
        "kind: json_api\nurl: https://example.com/items?kind=module\nitems: results\npaging: cursor\n"
        "next: meta.cursor\npage_parameter: after\nitem_id: '{id}'\nitem_text: '{text}'\n"
    )
    declaration = load_declaration(path)
    assert isinstance(declaration, JsonApiDeclaration)
    assert isinstance(make_source(declaration, load_settings({})), JsonApiSource)
    assert declaration.item_title == "{title || name}"


# ------------------------------------------------------------------------------------------- what changed, what went


@pytest.mark.parametrize("paging", PAGING)
def test_an_unchanged_list_is_not_sent_again(paging):
    with ListServer([item(n) for n in range(1, 36)], paging=paging) as server:
        source = source_of(server)
        cursor = last_cursor(list(source.read(None)))
        server.bodies = 0
        batches = list(source.read(cursor))
        assert (ids(batches), failed(batches), deleted(batches), last_cursor(batches)) == ([], [], [], cursor)
        assert server.bodies == 0


@pytest.mark.parametrize("paging", PAGING)
def test_without_validators_an_unchanged_list_gives_nothing_all_the_same(paging):
    with ListServer([item(n) for n in range(1, 36)], paging=paging, validators=False) as server:
        source = source_of(server)
        cursor = last_cursor(list(source.read(None)))
        batches = list(source.read(cursor))
        assert (ids(batches), deleted(batches), last_cursor(batches)) == ([], [], cursor)


@pytest.mark.parametrize("validators", [True, False])
@pytest.mark.parametrize("paging", PAGING)
def test_an_edit_an_addition_and_a_deletion(paging, validators):
    with ListServer([item(n) for n in range(1, 36)], paging=paging, validators=validators) as server:
        source = source_of(server)
        first = list(source.read(None))
        assert len(ids(first)) == 35
        server.items[4]["about"] = "Edited."
        del server.items[20]
        server.items.append(item(99))
        second = list(source.read(last_cursor(first)))
        found = {document.id: document for batch in second for document in batch.documents}
        assert found["registry:module-5"].text == "Edited.\n"
        assert "registry:module-99" in found
        assert deleted(second) == ["registry:module-21"]
        third = list(source.read(last_cursor(second)))
        assert (ids(third), deleted(third)) == ([], [])


def test_an_item_that_slips_past_the_pages_is_not_taken_for_deleted():
    with ListServer([item(n) for n in range(1, 36)], paging="page") as server:
        source = source_of(server)
        first = list(source.read(None))
        server.requests.clear()

        def shift(count: int) -> None:
            """After the first page an item of it goes, so that the eleventh moves onto the page that was read."""
            if count == 2:
                del server.items[0]

        server.before = shift
        second = list(source.read(last_cursor(first)))
        server.before = None
        assert "registry:module-11" not in deleted(second)
        third = list(source.read(last_cursor(second)))
        assert "registry:module-11" in ids(third)
        assert deleted(second) + deleted(third) == ["registry:module-1"]
        assert ids(list(source.read(last_cursor(third)))) == []


@pytest.mark.parametrize("other", [{"item_text": "{about}!"}, {"audiences": ["staff"]}, {"item_title": "{name}"}])
def test_a_declaration_that_makes_other_documents_reads_from_the_start(other):
    with ListServer([item(n) for n in range(1, 4)]) as server:
        cursor = last_cursor(list(source_of(server).read(None)))
        assert len(documents(source_of(server, title="Another", max_items=9), cursor)) == 0
        assert len(documents(source_of(server, **other), cursor)) == 3


@pytest.mark.parametrize("cursor", ["x", "{}", "[]", '{"pages": [5], "selection": ""}', '{"pages": [{"url": 1}]}'])
def test_a_cursor_that_is_none_is_an_error(cursor):
    with ListServer([item(1)]) as server, pytest.raises(SourceError, match="cursor"):
        documents(source_of(server), cursor)


# ----------------------------------------------------------------------------------------------------------- paging


def test_parameters_are_what_the_declaration_says():
    with ListServer([item(n) for n in range(1, 26)], paging="page") as server:
        url = f"{server.base_url}/items?kind=module"
        found = documents(source_of(server, url=url, size_parameter="per_page", page_size=10))
        assert len(found) == 25
        assert [request.query for request in server.requests] == [
            {"kind": "module", "per_page": "10", "page": str(number)} for number in (1, 2, 3, 4)
        ]


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_refusal_of_the_page_after_the_last_is_the_end(status):
    with ListServer([item(n) for n in range(1, 21)], paging="page") as server:
        server.faults.append(Fault("page=3", status, body=b'{"detail": "Invalid page."}'))
        assert len(documents(source_of(server))) == 20


def test_a_refusal_of_the_first_page_is_none():
    faults = [Fault("page=1", 404, body=b"{}")]
    with ListServer(paging="page", faults=faults) as server, pytest.raises(SourceError, match="404"):
        documents(source_of(server))


def test_an_api_that_ends_with_its_last_page_again():
    with ListServer([item(n) for n in range(1, 31)], paging="page") as server:
        last = json.dumps({"results": server.items[20:]}).encode()
        server.faults.append(Fault("page=4", body=last, times=9))
        source = source_of(server)
        batches = list(source.read(None))
        assert len(ids(batches)) == 30
        again = list(source.read(last_cursor(batches)))
        assert (ids(again), failed(again), deleted(again)) == ([], [], [])


def test_an_api_that_ignores_the_number_is_named_and_not_read_half():
    with ListServer([item(n) for n in range(1, 31)]) as server:
        with pytest.raises(SourceError, match="first again") as caught:
            documents(source_of(server, paging="page", page_parameter="p"))
        assert "`page_parameter` (p)" in caught.value.remedy


@pytest.mark.parametrize("paging", ["next", "link", "cursor"])
def test_a_circle_of_links_ends(paging):
    with ListServer([item(n) for n in range(1, 31)], paging=paging) as server:
        body = {"results": [item(1)], "meta": {"next": "/items?start=10", "cursor": "after-10"}}
        link = {"Link": f'<{server.base_url}/items?start=10>; rel="next"'}
        server.faults.append(Fault("10", headers=link, body=json.dumps(body).encode(), times=99))
        with pytest.raises(SourceError, match="runs in a circle"):
            documents(source_of(server))
        assert len(server.requests) < 5


def test_a_list_without_end_ends():
    with ListServer(paging="next") as server:

        def another(count: int) -> None:
            body = {"results": [item(count)], "meta": {"next": f"/items?start={count}"}}
            server.faults = [Fault(body=json.dumps(body).encode())]

        server.before = another
        for limit in ({"max_pages": 20}, {"max_items": 20}):
            server.requests.clear()
            with pytest.raises(SourceError, match=rf"longer than `{next(iter(limit))}` of 20") as caught:
                documents(source_of(server, **limit))
            assert "raise the limit" in caught.value.remedy
            assert len(server.requests) <= 21


def test_a_link_to_another_server_is_not_followed_and_gets_no_header():
    with ListServer() as other, ListServer([item(1)], paging="next", secret=("X-Token", "s-123")) as server:
        body = {"results": [item(1)], "meta": {"next": f"{other.base_url}/items"}}
        server.faults.append(Fault(body=json.dumps(body).encode()))
        with pytest.raises(SourceError, match="another server"):
            documents(source_of(server, secrets=Secrets(headers={"X-Token": "s-123"})))
        assert not other.requests


@pytest.mark.parametrize("value", [[1], {"a": 1}])
def test_a_next_that_is_no_address_is_an_error(value):
    body = json.dumps({"results": [item(1)], "meta": {"next": value}}).encode()
    with ListServer(paging="next", faults=[Fault(body=body)]) as server, pytest.raises(SourceError, match="`next`"):
        documents(source_of(server))


# ------------------------------------------------------------------------------------------------------------ faults


@pytest.mark.parametrize("body", [b"{}", b"[]", b'"text"', b"null", b'{"results": {"a": 1}}', b'{"error": "down"}'])
def test_an_answer_without_the_list_is_an_error_and_not_an_empty_list(body):
    faults = [Fault(body=body)]
    with ListServer(faults=faults) as server, pytest.raises(SourceError, match="`items` finds no list") as caught:
        documents(source_of(server))
    assert "Correct `items`" in caught.value.remedy


@pytest.mark.parametrize(
    ("fault", "wait"),
    [
        (Fault(status=429, headers={"Retry-After": "9"}, body=b"{}"), 9.0),
        (Fault(status=429, body=b"slow down"), 60.0),
        (Fault(status=403, headers={"Retry-After": "5"}), 5.0),
        (Fault(status=503, headers={"Retry-After": "3"}), 3.0),
        (Fault(status=500), None),
        (Fault(cut=True), None),
        (Fault(length=100_000), None),
        (Fault(length=15), None),
        (Fault(body=b"<html>"), None),
        (Fault(body=b"[" * 100_000), None),
    ],
)
def test_what_fails_for_the_moment_is_asked_for_again(fault, wait):
    waits: list[float] = []
    with ListServer([item(1)], faults=[fault]) as server:
        assert list(documents(source_of(server, waits=waits))) == ["module-1"]
    assert len(waits) == 1
    assert wait is None or waits == [wait]


def test_what_fails_for_good_says_so_and_can_be_tried_again():
    broken = ListServer([item(1)], faults=[Fault(status=502, times=9)])
    with broken as server, pytest.raises(SourceError, match="failed 2 times: HTTP 502") as caught:
        documents(source_of(server))
    assert caught.value.retryable


def test_a_body_that_comes_too_slowly_is_given_up():
    slow = ListServer(faults=[Fault(drip=0.02, times=9, body=b" " * 500)])
    with slow as server, pytest.raises(SourceError, match="no complete response") as caught:
        documents(source_of(server, timeout=0.1))
    assert caught.value.retryable


def test_a_page_larger_than_declared_is_an_error_also_when_it_was_packed():
    large = ListServer([item(1, about="x" * 1_000_000)])
    with large as server, pytest.raises(SourceError, match="more than 100,000 bytes"):
        documents(source_of(server, max_page_bytes=100_000))


def test_an_answer_of_unchanged_that_was_not_asked_for_is_no_empty_list():
    lying = ListServer([item(1)], faults=[Fault(status=304, times=9)])
    with lying as server, pytest.raises(SourceError, match="unconditional request") as caught:
        documents(source_of(server))
    assert caught.value.retryable


def test_a_page_that_is_gone_at_the_second_read_fails_and_deletes_nothing():
    with ListServer([item(n) for n in range(1, 36)], paging="link") as server:
        source = source_of(server)
        cursor = last_cursor(list(source.read(None)))
        server.faults.append(Fault("start=20", 404, body=b"{}"))
        batches = []
        with pytest.raises(SourceError, match="404"):
            for batch in source.read(cursor):
                batches.append(batch)  # noqa: PERF402 - what came before the error counts
        assert deleted(batches) == []
        assert last_cursor(batches) is None


# ----------------------------------------------------------------------------------------------------------- secrets


def test_the_header_reaches_the_server_and_nothing_else(caplog):
    caplog.set_level(logging.DEBUG)
    with ListServer([item(1)], secret=("X-Token", "s-secret-123")) as server:
        secrets = secrets_for(server.base_url, json.dumps({server.base_url: {"X-Token": "s-secret-123"}}))
        assert documents(source_of(server, secrets=secrets))
        assert "s-secret-123" not in repr(secrets)
        with pytest.raises(SourceError, match="HTTP 401") as caught:
            documents(source_of(server, secrets=Secrets(headers={"X-Token": "wrong-987"})))
    assert "LORE_API_HEADERS" in caught.value.remedy
    assert "wrong-987" not in str(caught.value) + caplog.text
    assert "s-secret-123" not in caplog.text


def test_headers_are_for_the_server_that_they_are_declared_for():
    configured = json.dumps({"https://api.example.com": {"A": "1"}, "https://api.example.com:8443/": {"A": "2"}})
    assert secrets_for("https://api.example.com/v1/items?x=1", configured).headers == {"A": "1"}
    assert secrets_for("https://API.example.com:443/v1", configured).headers == {"A": "1"}
    assert secrets_for("https://api.example.com:8443/v1", configured).headers == {"A": "2"}
    assert secrets_for("http://api.example.com/v1", configured).headers == {}
    assert secrets_for("https://api.example.com.evil.com/v1", configured).headers == {}
    assert secrets_for("https://api.example.com/v1", None).headers == {}


@pytest.mark.parametrize(
    "text", ["s-123", '["s-123"]', '{"s-123": {}}', '{"https://a.b": "s-123"}', '{"https://a.b": {"A": 1}}']
)
def test_headers_that_are_none_are_refused_and_not_repeated(text):
    with pytest.raises(ConfigurationError, match="LORE_API_HEADERS") as caught:
        secrets_for("https://a.b", text)
    assert "s-123" not in str(caught.value)
