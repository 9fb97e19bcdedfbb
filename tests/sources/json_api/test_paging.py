"""Lists in JSON that change, and the ways in which APIs turn their pages."""

from __future__ import annotations

import json

import pytest
from lore.errors import SourceError

from tests.contracts.source import failed, ids, last_cursor
from tests.servers.json_api import Fault, ListServer
from tests.sources.json_api.lists import PAGING, deleted, documents, item, source_of


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
