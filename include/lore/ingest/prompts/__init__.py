"""The prompts of ingestion, one Markdown file each; `include.lore.prompts` reads them."""
