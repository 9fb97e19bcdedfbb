"""The prompts of ingestion, one Markdown file each; `lore.prompts` reads them."""
