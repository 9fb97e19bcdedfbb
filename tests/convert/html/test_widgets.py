"""Tabs, accordions, buttons with text and task lists keep all that they say, also while it is closed."""

from __future__ import annotations

import pytest
from lore.convert import convert

from tests.convert.html.pages import PROSE, text_around
from tests.fakes import make_document

TWO_TABS = "**Linux**\n\napt install tide\n\n**macOS**\n\nbrew install tide"

DOCUSAURUS = """
<div class="tabs-container"><ul role="tablist" class="tabs"><li role="tab" aria-selected="true" class="tabs__item">Linux
</li><li role="tab" aria-selected="false" class="tabs__item">macOS</li></ul><div class="margin-top--md">
<div role="tabpanel"><p>apt install tide</p></div><div role="tabpanel" hidden><p>brew install tide</p></div></div></div>
"""
SPHINX_TABS = """
<div class="sphinx-tabs docutils container"><div aria-label="Tabbed content" class="closeable" role="tablist">
<button aria-controls="panel-0-0-0" aria-selected="true" class="sphinx-tabs-tab" id="tab-0-0-0"
role="tab">Linux</button>
<button aria-controls="panel-0-0-1" aria-selected="false" class="sphinx-tabs-tab" id="tab-0-0-1"
role="tab">macOS</button>
</div><div aria-labelledby="tab-0-0-0" class="sphinx-tabs-panel" id="panel-0-0-0" role="tabpanel"><p>apt install
tide</p>
</div><div aria-labelledby="tab-0-0-1" class="sphinx-tabs-panel" hidden="true" id="panel-0-0-1" role="tabpanel">
<p>brew install tide</p></div></div>
"""
SPHINX_DESIGN = """
<div class="sd-tab-set docutils"><input checked="checked" id="sd-tab-item-0" name="sd-tab-set-0" type="radio">
<label class="sd-tab-label" for="sd-tab-item-0">Linux</label><div class="sd-tab-content"><p>apt install tide</p></div>
<input id="sd-tab-item-1" name="sd-tab-set-0" type="radio"><label class="sd-tab-label" for="sd-tab-item-1">macOS</label>
<div class="sd-tab-content docutils"><p>brew install tide</p></div></div>
"""
MATERIAL = """
<div class="tabbed-set tabbed-alternate" data-tabs="1:2"><input checked id="__tabbed_1_1" name="__tabbed_1"
type="radio">
<input id="__tabbed_1_2" name="__tabbed_1" type="radio"><div class="tabbed-labels"><label
for="__tabbed_1_1">Linux</label>
<label for="__tabbed_1_2">macOS</label></div><div class="tabbed-content"><div class="tabbed-block"><p>apt install
tide</p>
</div><div class="tabbed-block"><p>brew install tide</p></div></div></div>
"""
STARLIGHT = """
<starlight-tabs><div class="tablist-wrapper"><ul role="tablist"><li role="presentation" class="tab"><a role="tab"
href="#tab-panel-1" id="tab-1" aria-selected="true">Linux</a></li><li role="presentation" class="tab"><a role="tab"
href="#tab-panel-2" id="tab-2" tabindex="-1">macOS</a></li></ul></div><div id="tab-panel-1" aria-labelledby="tab-1"
role="tabpanel"><p>apt install tide</p></div><div id="tab-panel-2" aria-labelledby="tab-2" role="tabpanel" hidden>
<p>brew install tide</p></div></starlight-tabs>
"""
BOOTSTRAP = """
<ul class="nav nav-tabs" id="t" role="tablist"><li class="nav-item"><button class="nav-link active" data-bs-toggle="tab"
data-bs-target="#t-1" role="tab" aria-controls="t-1">Linux</button></li><li class="nav-item"><button class="nav-link"
data-bs-toggle="tab" data-bs-target="#t-2" role="tab">macOS</button></li></ul><div class="tab-content"><div
class="tab-body tab-pane fade show active" id="t-1" role="tabpanel"><p>apt install tide</p></div>
<div class="tab-body tab-pane fade" id="t-2" role="tabpanel"><p>brew install tide</p></div></div>
"""


@pytest.mark.parametrize(
    "tabs",
    [DOCUSAURUS, SPHINX_TABS, SPHINX_DESIGN, MATERIAL, STARLIGHT, BOOTSTRAP],
    ids=["docusaurus", "sphinx-tabs", "sphinx-design", "material", "starlight", "bootstrap"],
)
def test_each_tab_comes_with_its_label_whether_it_is_in_front_or_not(tabs: str) -> None:
    assert text_around(tabs) == TWO_TABS


def test_a_group_of_code_names_each_file() -> None:
    group = """
    <div class="vp-code-group"><div class="tabs"><input type="radio" name="g" id="tab-a" checked><label
data-title="a.js"
    for="tab-a">a.js</label><input type="radio" name="g" id="tab-b"><label for="tab-b">b.ts</label></div><div
    class="blocks"><div class="language-js active"><button title="Copy Code" class="copy"></button><span class="lang">js
    </span><pre><code>run(1)</code></pre></div><div class="language-ts"><pre><code>run(2)</code></pre></div></div></div>
    """
    text = text_around(group)
    assert text.index("**a.js**") < text.index("run(1)") < text.index("**b.ts**") < text.index("run(2)")
    assert "```js\nrun(1)\n```" in text


def test_tabs_within_a_tab_keep_their_own_labels() -> None:
    inner = DOCUSAURUS.replace("apt install tide", "apt").replace("brew install tide", "brew")
    outer = DOCUSAURUS.replace("Linux", "Local").replace("macOS", "Cloud").replace("<p>apt install tide</p>", inner)
    text = text_around(outer)
    positions = [text.index(words) for words in ("**Local**", "**Linux**", "apt", "**macOS**", "**Cloud**")]
    assert positions == sorted(positions)
    assert text.count("**Linux**") == 1


@pytest.mark.parametrize(
    "accordion",
    [
        "<h3><button aria-expanded='false' aria-controls='a1'>{q}</button></h3>"
        "<div id='a1' role='region' hidden>{a}</div>",
        "<h3>{q}</h3><div style='display: none'>{a}</div>",
        "<h3>{q}</h3><div hidden='until-found'>{a}</div>",
        "<button class='accordion' aria-expanded='false'>{q}</button><div class='panel' style='display:none'>{a}</div>",
        "<button type='button' aria-expanded='false' aria-controls='x'>{q}</button><p></p><div id='x' hidden>{a}</div>",
        "<div class='accordion-item'><h2 class='accordion-header'>"
        "<button class='accordion-button collapsed'>{q}</button>"
        "</h2><div class='accordion-collapse collapse' style='display:none'>{a}</div></div>",
        "<dl><dt><button aria-expanded='false'>{q}</button></dt><dd hidden>{a}</dd></dl>",
        "<details><summary>{q}</summary>{a}</details>",
        "<div role='button' aria-expanded='false'><h3>{q}</h3></div><div class='faq-answer' hidden>{a}</div>",
    ],
)
def test_a_closed_accordion_keeps_question_and_answer(accordion: str) -> None:
    text = text_around(accordion.format(q="How do I change my plan?", a="<p>Open Billing and choose Plan.</p>"))
    assert text.index("How do I change my plan?") < text.index("Open Billing and choose Plan.")


@pytest.mark.parametrize(
    "hidden",
    [
        "<div hidden><p>Your session has expired, sign in again to go on reading.</p></div>",
        "<div class='modal' role='dialog' hidden><p>Subscribe to our letter.</p></div>",
        "<p style='display:none'>Thank you, we have saved your answer for later.</p>",
        "<button aria-expanded='false' aria-controls='m'>Menu</button><ul id='m' role='menu' hidden><li>Home</li></ul>",
        "<h3>Hosts<button aria-label='Copy the link'>Copy link</button></h3>",
    ],
)
def test_what_no_reader_opens_stays_out(hidden: str) -> None:
    assert text_around(hidden) in ("", "### Hosts")


@pytest.mark.parametrize(
    "box",
    [
        '<input type="checkbox" disabled{}> ',
        '<label class="task-list-control"><input type="checkbox" disabled{}>'
        '<span class="task-list-indicator"></span></label> ',
        '<p><input class="task-list-item-checkbox" disabled="disabled" type="checkbox"{}>',
    ],
)
def test_task_lists_keep_their_state(box: str) -> None:
    done, open_ = box.format(" checked"), box.format("")
    items = f'<li class="task-list-item">{done}Backup taken</li><li class="task-list-item">{open_}Mail sent</li>'
    assert text_around(f"<ul>{items}</ul>") == "- [x] Backup taken\n- [ ] Mail sent"


@pytest.mark.parametrize(
    "tags",
    [
        '<nav class="md-tags"><a href="../tags/#disk" class="md-tag">Disk</a> <span class="md-tag">Limits</span></nav>',
        '<footer class="theme-doc-footer"><div><b>Tags:</b><ul class="tags_jXut padding--none"><li class="tag">'
        '<a href="/t/d">'
        'Disk</a></li><li class="tag"><a href="/t/l">Limits</a></li></ul></div>'
        '<a href="/edit">Edit this page</a></footer>',
    ],
)
def test_tags_of_a_page_are_a_line(tags: str) -> None:
    page = f"<main><h1>Page</h1><p>{PROSE}</p>{tags}</main>"
    text = convert(make_document(text=page, format="html", title="")).text
    assert text == f"# Page\n\n{PROSE}\n\nTags: Disk, Limits\n"
