"""Questions to many sessions at once, in SQL, answered by DuckDB (the extra ``sql``).

:func:`query` is all there is to it. The files are read by this package, whoever wrote them,
and the engine sees nothing but the rows made of them. Importing this module does not load it.
"""

from .asking import Answer, query
from .errors import NoDuckDBError, QueryError
from .views import VIEWS, Column, View

__all__ = ["VIEWS", "Answer", "Column", "NoDuckDBError", "QueryError", "View", "query"]
