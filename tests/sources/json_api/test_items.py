"""Items of lists in JSON as documents, by the declaration's templates."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from lore.declarations import JsonApiDeclaration, load_declaration
from lore.errors import DeclarationError
from lore.settings import load_settings
from lore.sources.json_api.source import JsonApiSource
from lore.wiring.sources import make_source

from tests.contracts.source import SourceContract, ids
from tests.servers.json_api import ListServer
from tests.sources.json_api.lists import PAGING, documents, item, source_of


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
