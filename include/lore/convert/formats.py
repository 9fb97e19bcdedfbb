"""Convertible formats, and the format that a file name implies."""

from __future__ import annotations

__all__ = ["BINARY_FORMATS", "CODE_PREFIX", "FORMATS", "format_of"]

CODE_PREFIX = "code:"

_SUFFIXES = {
    "markdown": "md markdown mdown mkd mkdn qmd rmd",
    "mdx": "mdx",
    "html": "html htm xhtml shtml",
    "rst": "rst rest",
    "notebook": "ipynb",
    "xml": "xml rss atom rdf",
    "text": "txt text log",
    "asciidoc": "adoc asciidoc asc",
    "csv": "csv tsv tab",
    "docx": "docx docm",
    "pptx": "pptx pptm",
    "xlsx": "xlsx xlsm",
    "pdf": "pdf",
    "code:bash": "sh bash zsh ksh",
    "code:bat": "bat cmd",
    "code:c": "c h",
    "code:clojure": "clj cljs cljc",
    "code:cpp": "cc cpp cxx hh hpp hxx",
    "code:csharp": "cs",
    "code:css": "css scss less",
    "code:dart": "dart",
    "code:dockerfile": "dockerfile",
    "code:elixir": "ex exs",
    "code:erlang": "erl hrl",
    "code:fsharp": "fs fsx",
    "code:go": "go",
    "code:graphql": "graphql gql",
    "code:groovy": "groovy gradle",
    "code:haskell": "hs",
    "code:hcl": "tf tfvars hcl",
    "code:ini": "ini cfg conf properties",
    "code:java": "java",
    "code:javascript": "js jsx mjs cjs",
    "code:json": "json jsonc",
    "code:julia": "jl",
    "code:kotlin": "kt kts",
    "code:lua": "lua",
    "code:makefile": "mk make",
    "code:nix": "nix",
    "code:ocaml": "ml mli",
    "code:perl": "pl pm",
    "code:php": "php",
    "code:powershell": "ps1 psm1",
    "code:protobuf": "proto",
    "code:python": "py pyi pyx",
    "code:r": "r",
    "code:ruby": "rb rake gemspec",
    "code:rust": "rs",
    "code:scala": "scala sc",
    "code:sql": "sql",
    "code:svelte": "svelte",
    "code:swift": "swift",
    "code:toml": "toml",
    "code:typescript": "ts tsx mts cts",
    "code:vue": "vue",
    "code:yaml": "yaml yml",
    "code:zig": "zig",
}
_BY_SUFFIX = {suffix: name for name, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
_BY_NAME = {
    "dockerfile": "code:dockerfile",
    "containerfile": "code:dockerfile",
    "makefile": "code:makefile",
    "jenkinsfile": "code:groovy",
    "gemfile": "code:ruby",
    "rakefile": "code:ruby",
    "readme": "text",
    "license": "text",
    "notice": "text",
    "changelog": "text",
    "authors": "text",
    "contributing": "text",
}

FORMATS = frozenset(_SUFFIXES)
"""Names of all formats. Source code carries its language: `code:python`."""

BINARY_FORMATS = frozenset({"docx", "pptx", "xlsx", "pdf"})
"""Formats that aren't text: a document in one of them has `data`."""


def format_of(path: str) -> str | None:
    """Return the format that a file's name implies, or None for unknown files and files that aren't text."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    stem, _, suffix = name.rpartition(".")
    return _BY_SUFFIX.get(suffix) if stem else None
