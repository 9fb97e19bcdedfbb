"""The prompts of evaluation, one Markdown file each; `include.lore.prompts` reads them."""
