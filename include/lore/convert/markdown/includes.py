"""Inclusion of other files in Markdown: partials of MDX, MyST's directives and snippets of pymdownx."""

from __future__ import annotations

import posixpath
import re
import textwrap

from lore.convert.included_files import LANGUAGES, MAX_DEPTH, IncludedFiles, Read, select_lines
from lore.convert.markdown.fences import fence_code, iter_lines
from lore.convert.markdown.front_matter import split_front_matter

__all__ = ["resolve_markdown_includes"]

IMPORT = re.compile(
    r"^import[ \t]+(?P<name>[A-Za-z_$][\w$]*)[ \t]+from[ \t]+"
    r"['\"](?P<raw>!!raw-loader!)?(?P<target>[^'\"\n?]+)(?P<query>\?raw)?['\"];?[ \t]*$"
)
ATTRIBUTE = re.compile(
    r"(?P<name>[A-Za-z][\w-]*)\s*=\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|\{\s*(?P<word>[\w.-]+)\s*\})"
)
DIRECTIVE = re.compile(
    r"^(?P<indent>[ \t]*)(?P<fence>`{3,}|:{3,})\{(?P<name>include|literalinclude)\}[ \t]+(?P<target>\S+)[ \t]*\n"
    r"(?P<options>(?:[ \t]*:[\w-]+:.*\n)*)[ \t]*(?P=fence)[ \t]*$",
    re.MULTILINE,
)
OPTION = re.compile(r"^[ \t]*:(?P<name>[\w-]+):[ \t]*(?P<value>.*?)[ \t]*$", re.MULTILINE)
SNIPPET = re.compile(r"^(?P<indent>[ \t]*)-{1,}8<-{1,}[ \t]+[\"'](?P<target>[^\"'\n]+)[\"'][ \t]*$", re.MULTILINE)
LINES = re.compile(r"^(?P<path>.+?):(?P<first>\d{0,9}):(?P<last>\d{0,9})$")
SECTION = re.compile(r"^(?P<path>.+?):(?P<name>[A-Za-z_][\w-]*)$")
PARTIALS = (".md", ".mdx", ".markdown")


def resolve_markdown_includes(text: str, path: str, read: Read) -> str:
    """Return the text with the files that it imports, includes or quotes put in place.

    `path` and `read` are those of `includes.resolve_includes`. What can't be read stays as it is written.
    """
    if "import" not in text and "{include}" not in text and "{literalinclude}" not in text and "8<-" not in text:
        return text
    return _expand(text, path, IncludedFiles(read), 0)


def _expand(text: str, path: str, files: IncludedFiles, depth: int) -> str:
    if depth >= MAX_DEPTH:
        return text
    text = SNIPPET.sub(lambda snippet: _snippet(snippet, path, files, depth), text)
    text = DIRECTIVE.sub(lambda directive: _directive(directive, path, files, depth), text)
    for name, (target, is_raw) in _imports(text).items():
        text = _place(text, name, target, is_raw, path, files, depth)
    return text


def _imports(text: str) -> dict[str, tuple[str, bool]]:
    """Return the imported Markdown files, and files imported as text, by the names that the text gives them."""
    found: dict[str, tuple[str, bool]] = {}
    if "import" in text:
        for line in iter_lines(text):
            match = None if line.code or not line.text.startswith("import") else IMPORT.match(line.text)
            if match is None:
                continue
            is_raw = bool(match["raw"] or match["query"])
            target = match["target"].replace("@site/", "/").replace("@/", "/", 1)
            if target.startswith((".", "/")) and (is_raw or target.lower().endswith(PARTIALS)):
                found[match["name"]] = (target, is_raw)
    return found


def _place(text: str, name: str, target: str, is_raw: bool, path: str, files: IncludedFiles, depth: int) -> str:
    """Put a file where the text uses the component, or the text, of its name."""
    if is_raw:
        use = re.compile(rf"\{{\s*{re.escape(name)}\s*\}}")
    else:
        use = re.compile(rf"<{re.escape(name)}(?P<attributes>\s[^<>]*?)?(?:/>|>\s*</{re.escape(name)}\s*>)")
    if not use.search(text) or (found := files.find(target, path)) is None:
        return text
    place, content = found
    if is_raw:
        literal = re.sub(r"[`\\]|\$(?=\{)", lambda sign: f"\\{sign[0]}", content.strip("\n"))
        return use.sub(lambda _: f"{{`{literal}`}}", text)
    body = _expand(split_front_matter(content)[1], place, files, depth + 1).strip("\n")
    return use.sub(lambda match: _with_properties(body, match["attributes"] or ""), text)


def _with_properties(body: str, attributes: str) -> str:
    """Write a component's properties where its file names them: `{props.name}`."""
    values = {
        match["name"]: next(value for value in match.group("double", "single", "word") if value is not None)
        for match in ATTRIBUTE.finditer(attributes)
    }
    return re.sub(r"\{\s*props\.([\w-]+)\s*\}", lambda match: values.get(match[1], match[0]), body)


def _directive(directive: re.Match[str], path: str, files: IncludedFiles, depth: int) -> str:
    options = {match["name"]: match["value"] for match in OPTION.finditer(directive["options"])}
    found = files.find(directive["target"], path)
    if found is None:
        return directive[0]
    place, content = found
    selected = "\n".join(select_lines(content.split("\n"), options))
    suffix = posixpath.splitext(place)[1].lower()
    if directive["name"] == "literalinclude" or "literal" in options or "code" in options:
        language = options.get("language") or options.get("code") or LANGUAGES.get(suffix, "")
        selected = fence_code(textwrap.dedent(selected).strip("\n"), language)
    elif suffix in PARTIALS:
        selected = _expand(split_front_matter(selected)[1], place, files, depth + 1).strip("\n")
    else:
        return directive[0]
    return textwrap.indent(selected, directive["indent"])


def _snippet(snippet: re.Match[str], path: str, files: IncludedFiles, depth: int) -> str:
    target, options, section = snippet["target"], {}, ""
    if match := LINES.match(target):
        target, options = match["path"], {"lines": f"{match['first'] or 1}-{match['last']}"}
    elif (match := SECTION.match(target)) and not match["path"].startswith(("http", "https")):
        target, section = match["path"], match["name"]
    if re.match(r"https?:", target) or (found := files.find(target, path) or files.find(f"/{target}", path)) is None:
        return snippet[0]
    place, content = found
    lines = select_lines(content.split("\n"), options)
    if section:
        lines = select_lines(lines, {"start-after": f"[start:{section}]", "end-before": f"[end:{section}]"})
    lines = [line for line in lines if not re.search(r"-+8<-+[ \t]*\[(?:start|end):[\w-]+\]", line)]
    selected = _expand("\n".join(lines), place, files, depth + 1).strip("\n")
    return textwrap.indent(selected, snippet["indent"])
