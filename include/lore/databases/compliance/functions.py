"""The functions that a statement may call: built-in ones that compute, by the names that the database gets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

__all__ = ["refused_functions"]

_COMMON = """
abs acos asin atan atan2 avg cast ceil ceiling coalesce concat concat_ws cos cot count cume_dist degrees dense_rank
exists exp first_value floor greatest lag last_value lead least length ln log log10 lower ltrim max min mod nth_value
ntile nullif percent_rank pi pow power radians rank replace round row_number rtrim sign sin sqrt substr substring
sum tan trim trunc upper random grouping extract filter values
"""
_SQLITE = """
char date datetime format_date glob group_concat hex ifnull iif instr json_array_length json_extract json_type
json_valid julianday like likelihood likely log2 quote string_agg strftime time timediff total typeof unicode
unixepoch unlikely
"""
_POSTGRES = """
age any_value array array_agg array_length array_position array_to_string ascii bit_and bit_or bool_and bool_or
btrim cardinality cbrt char_length character_length chr clock_timestamp corr covar_pop covar_samp current_date
date_bin date_part date_trunc div every initcap isfinite json_agg json_array_elements json_array_elements_text
json_build_object json_extract_path json_extract_path_text json_object_agg json_typeof jsonb_agg
jsonb_array_elements jsonb_array_elements_text jsonb_array_length json_array_length jsonb_build_object
jsonb_extract_path jsonb_extract_path_text jsonb_object_agg jsonb_typeof justify_days justify_hours
justify_interval left lpad make_date make_interval make_timestamp md5 mode now octet_length overlay
percentile_cont percentile_disc position regexp_match regexp_matches regexp_replace regexp_split_to_array
regexp_split_to_table regr_intercept regr_r2 regr_slope reverse right rpad row split_part starts_with
statement_timestamp stddev stddev_pop stddev_samp string_agg string_to_array strpos timezone to_char to_date
to_number to_timestamp translate unnest var_pop var_samp variance width_bucket date timestamp time interval
"""
COMMON = frozenset(_COMMON.split())
BY_DIALECT = {"sqlite": frozenset(_SQLITE.split()), "postgres": frozenset(_POSTGRES.split())}
WORDS = {"CURRENT_DATE", "CURRENT_TIME", "CURRENT_TIMESTAMP", "LOCALTIME", "LOCALTIMESTAMP"}
"""Functions without brackets."""
PADDING = ("lpad", "rpad")
MAX_PADDING = 1_000
_CALL = re.compile(r'\s*("(?:[^"]|"")+"|[^\W\d][\w$]*)\s*\(')
_WORD = re.compile(r"\s*[^\W\d]\w*\s*(?:\(\s*\d*\s*\))?\s*")


def refused_functions(tree: exp.Expression, dialect: str) -> Iterator[str]:
    """Yield a reason for each call of a function that isn't known to be harmless."""
    from sqlglot import exp
    from sqlglot.errors import ErrorLevel

    allowed = COMMON | BY_DIALECT.get(dialect, frozenset())
    for node in tree.find_all(exp.Func):
        if isinstance(node, (exp.Connector, exp.Case, exp.If)):
            continue
        text = node.sql(dialect=dialect, comments=False, unsupported_level=ErrorLevel.IGNORE)
        call = _CALL.match(text)
        if call:
            name = call[1].strip('"')
            if name.lower() not in allowed or (name != call[1] and name != name.lower()):
                yield f"it calls the function {name[:60]}, which isn't known to be harmless"
            elif name.lower() in PADDING and not _short(node):
                yield f"it pads a text to an unknown length or to more than {MAX_PADDING:,} characters"
        elif _WORD.fullmatch(text) and text.strip().upper() not in WORDS and not node.find(exp.Column, exp.Literal):
            yield f"it calls {text.strip()[:60]}, which isn't known to be harmless"
        elif isinstance(node, exp.Anonymous):
            yield "it calls a function with an unsupported name"


def _short(node: exp.Expr) -> bool:
    from sqlglot import exp

    arguments = [value for value in (node.args.get("expression"), *node.expressions) if value is not None]
    length = next((value for value in arguments if isinstance(value, exp.Literal) and not value.is_string), None)
    return length is not None and length.this.isdigit() and int(length.this) <= MAX_PADDING
