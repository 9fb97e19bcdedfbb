"""Components of MDX: their labels and the facts in their properties, as Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping

from lore.convert.markdown.fences import fence_code

__all__ = ["code_component", "component_text"]

ATTRIBUTE = re.compile(
    r"""(?<![\w-])(?P<name>[A-Za-z][\w-]*)(?:\s*=\s*(?:"(?P<double>[^"]*)"|'(?P<single>[^']*)'"""
    r"""|\{\s*(?:(?P<quote>["'`])(?P<quoted>.*?)(?P=quote)|(?P<word>-?[\d.]+|true|false|\[[^\[\]{}]{0,500}\]))\s*\}))?"""
    r"""(?=[\s/>])|\{(?:[^{}]|\{[^{}]*\})*\}""",
    re.DOTALL,
)
LABELS = ("label", "title", "summary", "header", "heading")
NAMES = (
    "name",
    "query",
    "path",
    "body",
    "param",
    "property",
    "field",
    "prop",
    "parameter",
    "option",
    "attribute",
    "arg",
)
"""Properties that name what a component describes; all but `name` also say where it goes."""
PLACES = frozenset({"query", "path", "body", "header", "cookie"})
PRESENTATION = frozenset(
    {
        "class", "classname", "style", "id", "key", "ref", "icon", "icontype", "color", "colour", "size", "variant",
        "width", "height", "align", "theme", "cols", "columns", "gap", "layout", "img", "image", "src", "srcset", "sx",
        "as", "slot", "target", "rel", "href", "to", "url", "groupid", "querystring", "values", "defaultvalue", "value",
        "lang", "language", "showlinenumbers", "highlight", "wrap", "open", "defaultopen", "collapsible", "lazy",
        "sync", "synckey", "horizontal", "animate", "loading", "bg", "background", "padding", "margin",
        "defaultchecked", "items", "onclick", "autoplay", "loop", "muted", "controls",
        "frameborder", "allowfullscreen", "tabindex", "role",
        "dangerouslysetinnerhtml", "placeholder"
    }
)  # fmt: skip
"""Properties, in small letters, that only say how a component looks or works."""
CALLOUTS = frozenset(
    {
        "note",
        "tip",
        "info",
        "warning",
        "danger",
        "caution",
        "important",
        "check",
        "success",
        "error",
        "hint",
        "question",
    }
)
CALLOUT_COMPONENTS = frozenset({"admonition", "callout", "alert", "aside", "notice", "message", "hint", "banner"})
DESCRIBES = re.compile(
    r"param|field|prop(?:erty|s)?$|option|argument|attribute|setting|config|endpoint|response|request|env|flag|header"
    r"|since|version|badge|availab|limit|metric|price|stat",
    re.IGNORECASE,
)
"""Names of components whose own default is a fact; on others it says which is in front."""
CODE = re.compile(r"^(?:Code|CodeBlock|CodeSnippet|Snippet|Highlight|SyntaxHighlighter|Terminal|Command|Bash|Shell)$")
LANGUAGE = re.compile(
    r"""(?<![\w-])(?:language|lang|className)\s*=\s*\{?\s*["'`](?:language-)?(?P<name>[\w+#.-]{1,30})["'`]"""
)
LITERAL_CHILD = re.compile(r"\s*\{\s*(?P<quote>[`'\"])(?P<code>.*?)(?<!\\)(?P=quote)(?:\.trim\(\))?\s*\}\s*", re.DOTALL)
LITERAL_CODE = re.compile(r"(?<![\w-])(?:code|children|value)\s*=\s*\{\s*`(?P<code>.*?)(?<!\\)`\s*\}", re.DOTALL)
MAX_CODE = 100_000


def component_text(name: str, tag: str, tab_labels: Mapping[str, str]) -> str:
    """Return a component's label, or the facts that its properties state, as a bold line; "" for neither."""
    attributes = _attributes(tag, name)
    small = name.rpartition(".")[2].lower()
    label = next((attributes[key] for key in LABELS if attributes.get(key)), "")
    if small.startswith("tab"):
        label = label or tab_labels.get(attributes.get("value", ""), attributes.get("value", ""))
        return _bold(label)
    kind = small if small in CALLOUTS else attributes.get("type", "") if small in CALLOUT_COMPONENTS else ""
    if kind:
        return _bold(f"{kind.capitalize()}: {label}" if label else kind.capitalize())
    if not label and small in ("image", "img", "figure", "frame"):
        return " ".join(attributes.get("alt", "").split())
    address = attributes.get("href") or attributes.get("to") or ""
    if label and re.match(r"https?://|[/#.]", address) and not re.search(r"[\s()]", address):
        label = f"[{label}]({address})"
    facts = _facts(small, attributes)
    described = next((key for key in NAMES if attributes.get(key) not in (None, "", "true", "false")), "")
    if not label and described:
        facts = [fact for fact in facts if fact != f"{described}: {attributes[described]}"]
        label = f"`{attributes[described]}`"
        facts = [described, *facts] if described in PLACES else facts
    if not label:
        return ", ".join(facts)
    return f"{_bold(label)} ({', '.join(facts)})" if facts else _bold(label)


def code_component(text: str, name: str, tag: re.Match[str]) -> tuple[str, int] | None:
    """Return the fenced code of a component that holds it in an expression, and the end of the component; or None."""
    if not CODE.match(name):
        return None
    end = tag.end()
    found = LITERAL_CODE.search(tag[0])
    if found is None and not tag[0].endswith("/>"):
        found = LITERAL_CHILD.match(text, tag.end(), tag.end() + MAX_CODE)
        end = found.end() if found else end
    if found is None:
        return None
    closing = re.compile(rf"\s*</{re.escape(name)}\s*>").match(text, end)
    language = LANGUAGE.search(tag[0])
    title = _attributes(tag[0], name).get("title", "")
    code = re.sub(r"\\([`$\\])", r"\1", found["code"]).strip("\n")
    block = fence_code(code, language["name"].lower() if language else "")
    return f"\n\n{_bold(title)}\n\n{block}\n\n" if title else f"\n\n{block}\n\n", closing.end() if closing else end


def _attributes(tag: str, name: str) -> dict[str, str]:
    """Return the properties with simple values; a bare one is "true"."""
    found: dict[str, str] = {}
    body = tag[len(name) + 1 :]
    for match in ATTRIBUTE.finditer(body):
        if match["name"] is None:
            continue
        values = match.group("double", "single", "quoted", "word")
        value = next((each for each in values if each is not None), None)
        if value is None and re.match(r"\s*=", body[match.end("name") :]):
            continue  # an expression
        found.setdefault(match["name"], " ".join(("true" if value is None else value).split()))
    return found


def _facts(name: str, attributes: Mapping[str, str]) -> list[str]:
    facts: list[str] = []
    is_description = DESCRIBES.search(name) is not None or any(each in attributes for each in NAMES)
    for key, value in attributes.items():
        small = key.lower()
        if small in PRESENTATION or key in LABELS or small.startswith(("on", "data-", "aria-", "show", "is", "has")):
            continue
        if small in ("default", "type", "status") and not is_description:
            continue
        if value == "true":
            facts.append(_words(key))
        elif value and value != "false":
            facts.append(f"{_words(key)}: {value.strip('[]')}")
    return facts


def _words(key: str) -> str:
    """Return a property's name as words: `minLength` is "min length"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]", " ", key).lower()


def _bold(label: str) -> str:
    words = " ".join(label.split())
    return f"**{words}**" if words else ""
