"""Facts in the properties of MDX components, code in expressions, and what only looks like either."""

from __future__ import annotations

import pytest
from lore.convert import convert

from tests.fakes import make_document


def mdx(text: str) -> str:
    return convert(make_document(text=text, format="mdx", title="")).text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            '<ParamField query="limit" type="integer" default="10">\n  How many.\n</ParamField>',
            "**`limit`** (query, type: integer, default: 10)\n\nHow many.",
        ),
        (
            '<ParamField path="id" type="string" required>\n  The run.\n</ParamField>',
            "**`id`** (path, type: string, required)\n\nThe run.",
        ),
        (
            '<ResponseField name="next_cursor" type="string" deprecated={true} />',
            "**`next_cursor`** (type: string, deprecated)",
        ),
        ('<APITable name="max" minValue={1} unit="jobs" />', "**`max`** (min value: 1, unit: jobs)"),
        ('<Since version="2.4" />', "version: 2.4"),
        ('It is <Badge text="Beta" color="red" /> here.', "It is text: Beta here."),
        ('<Card title="Limits" icon="bolt" href="/limits">\n  Read on.\n</Card>', "**[Limits](/limits)**\n\nRead on."),
        ('<Callout type="warning" title="Careful">\n  Ask first.\n</Callout>', "**Warning: Careful**\n\nAsk first."),
        ("<Tip>\n  Ask first.\n</Tip>", "**Tip**\n\nAsk first."),
        ('<Admonition type="danger" icon="x">Ask first.</Admonition>', "**Danger**Ask first."),
        ('<Image src="/a.png" alt="The three nodes" width={500} />', "The three nodes"),
        (
            '<Tabs defaultValue="a" groupId="os">\n<TabItem value="a" label="Linux" default>\nUse apt.\n</Ta'
            "bItem>\n</Tabs>",
            "**Linux**\n\nUse apt.",
        ),
        (
            '<Steps>\n<Step title="Install" stepNumber={1}>\nRun it.\n</Step>\n</Steps>',
            "**Install** (step number: 1)\n\nRun it.",
        ),
        (
            "export const limit = 4200;\nexport const plan = 'Team';\n\nAt most {limit} jobs in {plan}, not {other}.",
            "At most 4200 jobs in Team, not {other}.",
        ),
    ],
)
def test_properties_that_are_facts(text: str, shown: str) -> None:
    assert mdx(text).strip() == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            '<CodeBlock language="bash">\n{`curl -d \'{"job": 7}\' https://x`}\n</CodeBlock>',
            "```bash\ncurl -d '{\"job\": 7}' https://x\n```",
        ),
        (
            '<CodeBlock language="py" title="run.py">{`a = 1\n\n# two\n`}</CodeBlock>',
            "**run.py**\n\n```py\na = 1\n\n# two\n```",
        ),
        ('<CodeBlock className="language-js">\n  {`run(\\`x\\`, \\${y})`}\n</CodeBlock>', "```js\nrun(`x`, ${y})\n```"),
        ('<Code lang="sh" code={`make demo`} />', "```sh\nmake demo\n```"),
        ("<Terminal>{'make demo'}</Terminal>", "```\nmake demo\n```"),
        ("Set it to {`{}`} or {'x'}.", "Set it to {} or x."),
        ("<CodeBlock>\n\n```sh\nmake demo\n```\n\n</CodeBlock>", "```sh\nmake demo\n```"),
    ],
)
def test_code_in_expressions(text: str, shown: str) -> None:
    assert mdx(text).strip() == shown


@pytest.mark.parametrize("piece", ["<Code>{`", "<Code code={`", "<P a='", "<Param name={[", "export const a = `"])
def test_hostile_components_take_no_time(piece: str) -> None:
    mdx(piece * 3000)
