"""Anchors of headings, as the programs make them that show the pages."""

from __future__ import annotations

import random

import pytest
from docutils import nodes
from docutils.core import publish_doctree
from lore.convert.markdown.slugs import heading_slugs

SENTENCE = "Setup Über private snake_case 日本 naïve What's new? 1.2.3 a-b Ünïcode and more Setup 2024 (x) C++"


def slugs(style: str, *headings: str) -> list[str]:
    return list(heading_slugs([(heading, heading) for heading in headings], style))


@pytest.mark.parametrize(
    ("heading", "anchor"),
    [
        ("Getting started", "getting-started"),
        ("What's new in 2.0?", "whats-new-in-20"),
        ("a -- b", "a----b"),
        ("`snake_case` & C++", "snake_case--c"),
        ("Ünïcode 日本語 हिन्दी", "ünïcode-日本語-हिन्दी"),
        (":tada: Release", "tada-release"),
        ("½ cup ² ①", "-cup--"),
        ("🎉 Party", "-party"),
    ],
)
def test_github(heading: str, anchor: str):
    assert slugs("github", heading) == slugs("docusaurus", heading) == [anchor]


def test_repeated_headings():
    assert slugs("github", "A", "A", "A 1", "A", "a") == ["a", "a-1", "a-1-1", "a-2", "a-3"]
    assert slugs("mkdocs", "A", "A", "A_1", "日本", "日本") == ["a", "a_1", "a_2", "_1", "_2"]
    assert slugs("sphinx", "A", "a", "日本", "A b", "A b") == ["a", "id1", "id2", "a-b", "id3"]
    assert slugs("jupyter", "A b", "A b") == ["A-b", "A-b"]


def test_declared_anchors():
    assert slugs("docusaurus", "Set up {#own}", "Own") == ["own", "own-1"]
    assert list(heading_slugs([("## Set up {#own}", "Set up")], "github")) == ["set-up-own"]
    assert slugs("mkdocs", "Set up { #own .wide }", "Set up {: #other }", "Own") == ["own", "other", "own_1"]


@pytest.mark.parametrize("style", ["none", "", "other", None, 3])
def test_unknown_styles_have_no_anchors(style: object):
    assert list(heading_slugs([("A", "A"), ("A", "A")], style)) == ["", ""]


def test_sphinx_as_docutils_does():
    random.seed(3)
    for _ in range(30):
        headings = ["Top", *(" ".join(random.choices(SENTENCE.split(), k=3)) for _ in range(6))]
        text = "\n\ntext\n\n".join(f"{heading}\n{('#' if heading == 'Top' else '=') * 60}" for heading in headings)
        settings = {"auto_id_prefix": "id", "report_level": 5, "doctitle_xform": False}
        tree = publish_doctree(text, settings_overrides=settings)
        assert slugs("sphinx", *headings) == [section["ids"][0] for section in tree.findall(nodes.section)]
