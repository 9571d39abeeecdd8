"""A file of JSON lines that is only appended to: bytes in, bytes out.

Nothing here knows what a line means; a ``decode`` function that is handed in does. What
is known is how lines are marked and sealed (``seal``), which of them are whole batches
and what a crash leaves behind (``reader``), how a batch is added so that it is there
wholly or not at all (``writer``), and how writers exclude each other (``lock``).
``docs/format.md`` is the specification.
"""
