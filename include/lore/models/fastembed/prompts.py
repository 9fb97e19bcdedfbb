"""Prompts that embedders were trained with: without them the same vectors rank worse.

From the models' pages on Hugging Face's hub. fastembed leaves them to its callers.
"""

from __future__ import annotations

import re

__all__ = ["prompts_of"]

_ENGLISH_QUERY = "Represent this sentence for searching relevant passages: "
_PROMPTS = (
    (r"e5-(?:mistral|.*instruct)", "Instruct: Given a question, retrieve passages that answer it\nQuery: ", ""),
    (r"(?:^|[/_-])e5-", "query: ", "passage: "),
    (r"nomic-embed-text", "search_query: ", "search_document: "),
    (r"embeddinggemma", "task: search result | query: ", "title: none | text: "),
    (r"qwen3-embedding", "Instruct: Given a question, retrieve passages that answer it\nQuery:", ""),
    (r"arctic-embed-\w+-v2", "query: ", ""),
    (r"arctic-embed|mxbai-embed|bge-(?:small|base|large)-en", _ENGLISH_QUERY, ""),
    (r"bge-(?:small|base|large)-zh", "为这个句子生成表示以用于检索相关文章：", ""),
)


def prompts_of(model: str) -> dict[str, str]:
    """Return the prompts of a model by its name, for "query" and "document"; both "" for a model without."""
    for name, query, document in _PROMPTS:
        if re.search(name, model, re.IGNORECASE):
            return {"query": query, "document": document}
    return {"query": "", "document": ""}
