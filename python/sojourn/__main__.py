"""`python -m sojourn`."""

from sojourn.command import main

main()
