"""Entries, headers and details to and from one line of JSON.

Encoding validates first and raises :class:`EntryError` with the path of the fault, so a
store knows of every refusal before it writes a byte. Decoding checks in a fixed order:
the JSON and its types, then the message payload, then the rules of entries. Lines come
in and go out without a seal; :mod:`transcript_log._logfile` adds and checks that.
"""

from .decoding import (
    decode_detail,
    decode_entry,
    decode_header,
    detail_from_value,
    entry_from_value,
)
from .encoding import encode_detail, encode_entry, encode_header
from .outcomes import outcome_payload, read_outcome, read_started, started_payload

__all__ = [
    "decode_detail",
    "decode_entry",
    "decode_header",
    "detail_from_value",
    "encode_detail",
    "encode_entry",
    "encode_header",
    "entry_from_value",
    "outcome_payload",
    "read_outcome",
    "read_started",
    "started_payload",
]
