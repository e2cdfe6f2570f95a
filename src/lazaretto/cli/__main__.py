"""`python -m lazaretto.cli`, for where the installed script is not on the path."""

from lazaretto.cli import main

main()
