"""Which functions an expression may call, and why the well-known others may not be called.

The list is positive: scalar, deterministic functions of Spark 4.2 that depend on their arguments only. What
is on no list is refused too. The families below exist to give a better answer than "unknown".
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


def names(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


STRINGS = names("""
    ascii base64 bit_length btrim char char_length character_length chr collate collation concat concat_ws
    contains decode elt encode endswith find_in_set format_number format_string ilike initcap instr
    is_valid_utf8 lcase left len length levenshtein like locate lower lpad ltrim luhn_check
    make_valid_utf8 mask octet_length overlay position printf quote regexp regexp_count regexp_extract
    regexp_extract_all regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right
    rlike rpad rtrim sentences soundex space split split_part startswith substr substring substring_index
    to_binary to_char to_number to_varchar translate trim try_to_binary try_to_number try_validate_utf8
    ucase unbase64 upper validate_utf8 parse_url try_parse_url url_decode try_url_decode url_encode
""")
NUMBERS = names("""
    abs acos acosh asin asinh atan atan2 atanh bin bround cbrt ceil ceiling conv cos cosh cot csc degrees
    e exp expm1 factorial floor greatest hex hypot least ln log log10 log1p log2 mod negative pi pmod
    positive pow power radians rint round sec sign signum sin sinh sqrt tan tanh try_add try_divide
    try_mod try_multiply try_subtract unhex width_bucket bit_count bit_get getbit shiftleft shiftright
    shiftrightunsigned bitmap_bit_position bitmap_bucket_number bitmap_count
""")
DATES = names("""
    add_months convert_timezone date_add date_diff date_format date_from_unix_date date_part date_sub
    date_trunc dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear extract from_unixtime
    from_utc_timestamp hour last_day make_date make_dt_interval make_interval make_time make_timestamp
    make_timestamp_ltz make_timestamp_ntz make_ym_interval minute month monthname months_between next_day
    quarter second time_bucket time_diff time_from_micros time_from_millis time_from_seconds
    time_to_micros time_to_millis time_to_seconds time_trunc timestamp_micros timestamp_millis
    timestamp_seconds to_date to_time to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp
    to_utc_timestamp trunc try_make_interval try_make_timestamp try_make_timestamp_ltz
    try_make_timestamp_ntz try_to_date try_to_time try_to_timestamp unix_date unix_micros unix_millis
    unix_seconds unix_timestamp weekday weekofyear year
""")
COLLECTIONS = names("""
    array array_append array_compact array_contains array_distinct array_except array_insert
    array_intersect array_join array_max array_min array_position array_prepend array_remove array_repeat
    array_size array_sort array_union arrays_overlap arrays_zip cardinality element_at flatten get
    sequence size slice sort_array try_element_at map map_concat map_contains_key map_entries
    map_from_arrays map_from_entries map_keys map_values str_to_map named_struct struct aggregate exists
    filter forall map_filter map_zip_with reduce transform transform_keys transform_values zip_with
""")
DOCUMENTS = names("""
    from_csv to_csv schema_of_csv from_json to_json get_json_object json_array_length json_object_keys
    schema_of_json parse_json try_parse_json is_valid_variant is_variant_null schema_of_variant
    to_variant_object variant_get try_variant_get
""")
CONDITIONS = names("""
    coalesce equal_null if ifnull isnan isnotnull isnull nanvl nullif nullifzero nvl nvl2 typeof
    zeroifnull
""")
CASTS = names("bigint binary boolean cast date decimal double float int smallint string time timestamp tinyint")
HASHES = names("crc32 hash md5 sha sha1 sha2 xxhash64")
GRAMMAR = names("try_cast timestampadd timestampdiff")
"""Functions that Spark's grammar knows and SHOW FUNCTIONS does not list."""

ALLOWED = STRINGS | NUMBERS | DATES | COLLECTIONS | DOCUMENTS | CONDITIONS | CASTS | HASHES | GRAMMAR

UNIT_FIRST = names("date_add date_diff dateadd datediff timestampadd timestampdiff")
"""With three arguments the first is a unit (`DAY`), not a column."""

READS_DATES = DATES | names("date timestamp cast try_cast timestampadd timestampdiff")
"""Where the text 'now' or 'today' would become the clock."""

BARE_FUNCTIONS = names("""
    current_date current_path current_time current_timestamp current_user grouping__id session_user user
""")
"""Names that Spark may take for a call even without parentheses."""


class Family(NamedTuple):
    """A group of functions refused for one reason."""

    reason: str
    suggestion: str | None
    names: frozenset[str]


FAMILIES: tuple[Family, ...] = (
    Family(
        "reads the clock, so the same row could be judged differently tomorrow",
        "the clock is passed in: use the event_time check",
        names("""
            curdate current_date current_time current_timestamp getdate localtimestamp now sysdate
            systimestamp unix_timestamp
        """),
    ),
    Family(
        "is not deterministic: the same row would not always get the same verdict",
        None,
        names("""
            monotonically_increasing_id rand randn random randstr shuffle spark_partition_id uniform uuid
            input_file_block_length input_file_block_start input_file_name
        """),
    ),
    Family(
        "depends on the session and not on the row",
        None,
        names("""
            current_catalog current_database current_metastore current_path current_recipient
            current_schema current_timezone current_user grouping__id is_account_group_member is_member
            session_user user version current_version
        """),
    ),
    Family(
        "is an aggregate; a row rule sees one row only",
        "use a dataset rule, or aggregate(array, …) for the elements of an array",
        names("""
            any any_value approx_count_distinct approx_percentile approx_top_k approx_top_k_accumulate
            approx_top_k_combine array_agg avg bit_and bit_or bit_xor bitmap_and_agg bitmap_construct_agg
            bitmap_or_agg bool_and bool_or collect_list collect_set corr count count_if count_min_sketch
            covar_pop covar_samp every first first_value grouping grouping_id histogram_numeric
            hll_sketch_agg hll_union_agg kurtosis last last_value listagg max max_by mean measure median
            min min_by mode percentile percentile_approx percentile_cont percentile_disc regr_avgx
            regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy
            schema_of_variant_agg skewness some std stddev stddev_pop stddev_samp string_agg sum try_avg
            try_sum var_pop var_samp variance all
        """),
    ),
    Family(
        "is a window function; a row rule sees one row only",
        "use a dataset rule",
        names("""
            cume_dist dense_rank lag lead nth_value ntile percent_rank rank row_number session_window
            window window_time over
        """),
    ),
    Family(
        "makes several rows out of one",
        "use exists(array, x -> …) or forall(array, x -> …) to look into an array",
        names("""
            collations explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer
            sql_keywords stack variant_explode variant_explode_outer
        """),
    ),
    Family(
        "reads a table or a file",
        "use the referential_integrity or query check",
        names("""
            cloud_files event_log list_secrets python_worker_logs range read_files read_kafka read_kinesis
            read_pubsub read_statestore remote_query table table_changes values vector_search
        """),
    ),
    Family("runs code of the Java machine", None, names("java_method reflect try_reflect")),
    Family(
        "stops the whole job instead of judging the row",
        "write the condition itself; a row that does not meet it is reported",
        names("assert_true raise_error"),
    ),
    Family(
        "is encryption; a key in a rule file is no secret any more",
        "compare hashes with sha2 instead",
        names("aes_decrypt aes_encrypt try_aes_decrypt"),
    ),
    Family(
        "talks to something outside the data",
        None,
        names("http_request secret try_secret from_avro to_avro schema_of_avro from_protobuf to_protobuf"),
    ),
    Family("names something by a text, which hides what it is", "write the name itself", names("identifier")),
)

REFUSED: Mapping[str, Family] = MappingProxyType({name: family for family in FAMILIES for name in family.names})
EXTERNAL = Family("talks to something outside the data", None, frozenset())


def refusal_of(name: str) -> tuple[str, str | None] | None:
    """Why the function may not be called and what to do instead, or None if it may."""
    if name in ALLOWED:
        return None
    family = REFUSED.get(name) or (EXTERNAL if name.startswith("ai_") else None)
    if family is not None:
        return f"`{name}` {family.reason}", family.suggestion
    return f"`{name}` is not a function that a rule may call, and neither are user-defined ones", _nearest(name)


def _nearest(name: str) -> str | None:
    from difflib import get_close_matches  # only when something is wrong: import time counts

    close = get_close_matches(name, sorted(ALLOWED), n=1, cutoff=0.6)
    return f"did you mean `{close[0]}`?" if close else None
