"""`python -m include.lore.cli`, for where the `lore` script is not installed."""

from include.lore.cli import main

main()
