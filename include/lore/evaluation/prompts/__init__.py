"""The prompts of evaluation, one Markdown file each; `lore.prompts` reads them."""
