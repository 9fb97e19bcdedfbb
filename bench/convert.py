"""Time and memory for converting a page of 2 MB to Markdown, for each format.

    python -m bench.convert [--megabytes 2] [--format rst]

Prints JSON: for each format, measured in its own process, processor and clock seconds, and the process's megabytes
before and at the peak. Pages contain sections, links, code, tables, lists and admonitions. `rst_airflow` repeats
Airflow's own documentation; it is left out without shared test data (LORE_TEST_SHARED_DATA).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from lore.convert import convert
from lore.types import Document

from bench.scale.meter import MEGABYTE, Meter, peak_megabytes

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data"

MARKDOWN = """
## Step {n} of the deployment

Set the *executor* of step {n} in `airflow.cfg` and read [its page](https://docs.example.com/step-{n}/#what) first. The
scheduler of step {n} then starts the tasks that wait, one after the other, as the pool has room for them.

- the queue `step_{n}`
- the pool of **step {n}**, with {n} slots

```python
def step_{n}(context):
    if context["step"] == {n}:
        return [item for item in context["items"] if item > {n}]
```

| key | default | meaning |
| --- | --- | --- |
| `step_{n}_timeout` | {n} | seconds until step {n} is given up |
| `step_{n}_retries` | 3 | how often it is tried again |
"""
MDX = (
    """
import Step{n} from "./step-{n}.js";
"""
    + MARKDOWN.replace("{n} slots", "{n} slots, {{/* not shown */}}")
    + """
<Tabs>
  <TabItem value="step-{n}" label="Step {n}">Take the image of step {n}.</TabItem>
</Tabs>

<Admonition type="note">Step {n} can be left out.</Admonition>
"""
)
HTML = """
<section id="step-{n}"><h2>Step {n} of the deployment<a class="headerlink" href="#step-{n}">¶</a></h2>
<p>Set the <em>executor</em> of step {n} in <code>airflow.cfg</code> and read <a href="/step-{n}/#what">its page</a>.
The scheduler of step {n} then starts the tasks that wait, one after the other, as the pool has room for them.</p>
<ul><li><p>the queue <code>step_{n}</code></p></li><li><p>the pool of <b>step {n}</b>, with {n} slots</p></li></ul>
<div class="highlight-python notranslate"><div class="highlight"><pre><span></span><span class="k">def</span>
<span class="nf">step_{n}</span><span class="p">(</span><span class="n">context</span><span class="p">):</span>
    <span class="k">return</span> <span class="n">context</span><span class="p">[</span><span class="mi">{n}</span>]
</pre></div></div>
<div class="admonition note"><p class="admonition-title">Note</p><p>Step {n} can be left out.</p></div>
<table class="docutils"><thead><tr><th>key</th><th>default</th><th>meaning</th></tr></thead>
<tbody><tr><td><code>step_{n}_timeout</code></td><td>{n}</td><td>seconds until step {n} is given up</td></tr>
<tr><td><code>step_{n}_retries</code></td><td>3</td><td>how often it is tried again</td></tr></tbody></table></section>
"""
RST = """
.. _step-{n}:

Step {n} of the deployment
--------------------------------

Set the *executor* of step {n} in ``airflow.cfg`` and read :doc:`its page <step-{n}>` and :ref:`step-{n}` first. The
scheduler of step {n} then starts the tasks that wait, one after the other, as the pool has room for them.

- the queue ``step_{n}``
- the pool of **step {n}**, with {n} slots

.. code-block:: python

    def step_{n}(context):
        if context["step"] == {n}:
            return [item for item in context["items"] if item > {n}]

.. note:: Step {n} can be left out, see :class:`~airflow.models.Step{n}`.

+-------------------+---------------------------+
| key               | meaning                   |
+===================+===========================+
| step timeout      | seconds until it ends     |
+-------------------+---------------------------+
"""


def repeated(piece: str, size: int) -> str:
    """Repeat the piece, with a running number for {n}, until it reaches the size in characters."""
    parts: list[str] = []
    length = 0
    while length < size:
        parts.append(piece.format(n=len(parts)) if "{n}" in piece else piece)
        length += len(parts[-1])
    return "".join(parts)


def notebook(size: int) -> str:
    """Return a notebook of text and code cells, whose outputs are texts and pictures."""
    cells: list[dict[str, object]] = []
    length = 0
    while length < size:
        n = len(cells)
        code = f"def step_{n}(context):\n    return [item for item in context if item > {n}]\n" * 8
        printed = [f"step {n}: line {line} of what was printed\n" for line in range(20)]
        outputs: list[dict[str, object]] = [{"output_type": "stream", "name": "stdout", "text": printed}]
        if n % 40 == 0:
            outputs.append({"output_type": "display_data", "data": {"image/png": "iVBOR" * 2_000}, "metadata": {}})
        text = repeated(MARKDOWN, 1).replace("Step 0", f"Step {n}")
        cells.append({"cell_type": "markdown", "metadata": {}, "source": text.splitlines(keepends=True)})
        cells.append({"cell_type": "code", "metadata": {}, "execution_count": n, "source": code, "outputs": outputs})
        length += sum(len(json.dumps(cell)) for cell in cells[-2:])
    return json.dumps({"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells})


def airflow(size: int) -> str:
    """Return Airflow's own documentation as one page; substitutions and labels repeat with their file."""
    folder = Path(os.environ.get("LORE_TEST_SHARED_DATA") or DEFAULT) / "sources" / "airflow_docs"
    whole = "\n\n".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.rst")))
    return (whole * (size // len(whole) + 1))[:size] if whole else ""


PAGES: dict[str, tuple[str, Callable[[int], str]]] = {
    "html": ("html", lambda size: f"<html><title>Steps</title><main>{repeated(HTML, size)}</main></html>"),
    "rst": ("rst", lambda size: "Steps\n=====\n" + repeated(RST, size)),
    "rst_airflow": ("rst", airflow),
    "markdown": ("markdown", lambda size: "---\ntitle: Steps\n---\n# Steps\n" + repeated(MARKDOWN, size)),
    "notebook": ("notebook", notebook),
    "mdx": ("mdx", lambda size: "---\ntitle: Steps\n---\n# Steps\n" + repeated(MDX, size)),
}


def main() -> None:
    """Print the figures of all formats, or of the named one."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=2.0)
    parser.add_argument("--format", choices=PAGES)
    arguments = parser.parse_args()
    if arguments.format:
        figures: object = measure(arguments.format, int(arguments.megabytes * MEGABYTE))
    else:
        figures = {name: _alone(name, arguments.megabytes) for name in PAGES}
    json.dump(figures, sys.stdout, indent=2)
    print()


def _alone(name: str, megabytes: float) -> object:
    """Measure one format in its own process, because a memory peak can't be reset."""
    command = [sys.executable, "-m", "bench.convert", "--format", name, "--megabytes", str(megabytes)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def measure(name: str, size: int) -> dict[str, float]:
    """Measure one conversion in this process, after a short page so that imports don't count."""
    format_name, make = PAGES[name]

    def document(size: int) -> Document:
        return Document("bench:page", "bench", "", "", "", format_name, data=make(size).encode())

    convert(document(2_000))
    page = document(size)
    before = peak_megabytes("self")
    meter = Meter()
    text = convert(page).text
    taken = meter.read()
    return {
        "megabytes": round(len(page.data or b"") / MEGABYTE, 2),
        "markdown_megabytes": round(len(text) / MEGABYTE, 2),
        "cpu_seconds": taken["cpu"],
        "seconds": taken["wall"],
        "before_mb": before,
        "peak_mb": peak_megabytes("self"),
    }


if __name__ == "__main__":
    main()
