"""``python -m transcript_log``: the command."""

from .cli import main

main(prog_name="transcript-log")
