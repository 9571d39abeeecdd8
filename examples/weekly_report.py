"""What agents did in the last week of their logs: runs and tokens by day, and which tools fail.

Any mix of session files and folders: python weekly_report.py sessions/ ~/.codex/sessions/2026/01/02/
Needs pip install 'transcript-log[sql]'.
"""

import sys

from transcript_log.sql import query

WEEK = "(SELECT max(last_time) - INTERVAL 7 DAYS FROM sessions)"
DAYS = f"""
    SELECT time::DATE AS day, count(*) AS responses, sum(input + cache_read + cache_write) AS input,
           sum(output) AS output, (SELECT count(*) FROM runs r WHERE r.started::DATE = day) AS runs
    FROM usage WHERE time > {WEEK} GROUP BY day ORDER BY day"""
TOOLS = f"""
    SELECT name, count(*) AS calls, avg(failed::INT) AS failure_rate, median(duration) AS seconds
    FROM tool_calls WHERE started > {WEEK} AND NOT copied GROUP BY name ORDER BY calls DESC, name"""
ERRORS = f"""
    SELECT name, split_part(output, chr(10), 1) AS said, count(*) AS times
    FROM tool_calls WHERE failed AND started > {WEEK} AND NOT copied
    GROUP BY ALL ORDER BY times DESC, name LIMIT 3"""


def shown(value: object) -> str:
    text = "-" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
    return text.encode("unicode_escape").decode()  # what a tool said may act on a terminal


for sql in (DAYS, TOOLS, ERRORS):
    answer = query(sys.argv[1:] or ["."], sql)
    for row in (answer.columns, *answer.rows):
        print("  ".join(map(shown, row)))
    print()
for finding in answer.findings:
    print(shown(finding), file=sys.stderr)
