"""Golden pairs: files that hold a suite, rows, and what the suite must say of each row.

A file in `tests/golden` has two parts, separated by `---`: a suite as a steward writes it, and the rows:

    schema: columns as in SQL
    references: {table name: {schema: …, rows: [[…]]}}     # for lookups, where needed
    rows:
      - kind: normal | malformed | boundary | missing | unicode
        row: {column: value}                               # what is left out is NULL
        fails:                                             # nothing here: the row is clean
          - {rule: id, column: name, found: text}          # and status: ERROR, expected: …, message: …
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructType

FOLDER = Path(__file__).parent / "golden"
KINDS = {"normal", "malformed", "boundary", "missing", "unicode"}
NUMBER = "golden_row"
"""Name of the column that tells the rows apart."""


@dataclass(frozen=True)
class Golden:
    """One file."""

    path: Path
    suite_text: str
    schema: str
    references: dict[str, dict[str, Any]]
    rows: list[dict[str, Any]]

    @property
    def kinds(self) -> set[str]:
        return {row["kind"] for row in self.rows}

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows, numbered."""
        from pyspark.sql.types import StructType

        schema = StructType.fromDDL(f"{NUMBER} INT, {self.schema}")
        unknown = {key for row in self.rows for key in row["row"]} - set(schema.names)
        assert not unknown, f"{self.path.name}: {unknown} are not columns"
        return spark.createDataFrame(self.values(schema), schema).coalesce(1)

    def values(self, schema: StructType) -> list[tuple[Any, ...]]:
        """The rows as Python values."""
        return [value_of(schema, {NUMBER: n} | row["row"]) for n, row in enumerate(self.rows)]

    def reference_frames(self, spark: SparkSession) -> dict[str, DataFrame]:
        from pyspark.sql.types import StructType

        frames = {}
        for name, table in self.references.items():
            schema = StructType.fromDDL(table["schema"])
            rows = [value_of(schema, dict(zip(schema.names, row, strict=True))) for row in table["rows"]]
            frames[name] = spark.createDataFrame(rows, schema)
        return frames


def read(path: Path) -> Golden:
    """A golden file."""
    suite_text, _, rest = path.read_text().partition("\n---\n")
    data = YAML(typ="safe").load(rest)
    unknown = set(data) - {"schema", "references", "rows"} | {
        key for row in data["rows"] for key in set(row) - {"kind", "row", "fails"}
    }
    assert not unknown, f"{path.name}: {unknown}"
    return Golden(path, suite_text + "\n", data["schema"], data.get("references", {}), data["rows"])


def all_files() -> list[Path]:
    return sorted(FOLDER.glob("*.yml"))


def value_of(form: DataType, raw: Any) -> Any:
    """What YAML says, as a Python value that PySpark takes for this type."""
    from pyspark.sql import types as t

    if raw is None:
        return None
    match form:
        case t.StructType():
            return tuple(value_of(field.dataType, raw.get(field.name)) for field in form.fields)
        case t.ArrayType():
            return [value_of(form.elementType, item) for item in raw]
        case t.MapType():
            return {value_of(form.keyType, k): value_of(form.valueType, v) for k, v in raw.items()}
        case t.DecimalType():
            return Decimal(str(raw)).quantize(Decimal(1).scaleb(-form.scale), context=Context(prec=38))
        case t.FloatType() | t.DoubleType():
            return float(raw)
        case t.DateType():
            return raw if isinstance(raw, date) else date.fromisoformat(raw)
        case t.TimestampType():
            moment = raw if isinstance(raw, datetime) else datetime.fromisoformat(raw)
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        case t.StringType():
            return str(raw)
    return raw


def comparable(value: Any) -> Any:
    """A value that equals itself: NaN too, and -0.0 does not equal 0.0."""
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value)
    if isinstance(value, dict):
        return ("map", tuple(sorted((repr(k), comparable(v)) for k, v in value.items())))
    if isinstance(value, list | tuple):
        return tuple(comparable(item) for item in value)
    if isinstance(value, datetime):  # PySpark gives naive ones, in the time zone of this process
        return value.astimezone(UTC)
    if isinstance(value, Decimal):
        return ("decimal", str(value))
    return value
