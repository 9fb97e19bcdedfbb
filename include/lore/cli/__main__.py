"""`python -m lore.cli`, for where the `lore` script is not installed."""

from lore.cli import main

main()
