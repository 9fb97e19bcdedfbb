"""`python -m lore.cli`, for installations without the `lore` script."""

from lore.cli import main

main()
