"""Every transformation on rows with known results: the golden pairs of tests/golden_corrections.

A file has two parts, separated by `---`: corrections as a steward writes them, and the rows:

    schema: columns as in SQL
    references: {table name: {schema: …, rows: [[…]]}}
    unusable: [ids of corrections that cannot be tried on such rows]
    rows:
      - row: {column: value}            # what is left out is NULL
        unfit: {column: text}           # what was there and did not fit its column
        broken: [rules]
        becomes: {column: value}        # what the row has then; nothing here: as it was
        tried: [corrections]            # if others than those applied
        applied: [corrections]
        left: {column: text}            # what does not fit even then
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML

from golden_support import NUMBER, comparable, value_of
from lazaretto.config.corrections import build_corrections
from lazaretto.config.problems import Problems
from lazaretto.config.yaml_reader import read_text
from lazaretto.engine.corrections import APPLIED, BROKEN, CHANGED, TRIED, UNFIT, corrected
from lazaretto.engine.references import reader
from lazaretto.model.correction import CorrectionSet, all_transformations

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = Path(__file__).parent.parent / "golden_corrections"


def _read(path: Path) -> tuple[CorrectionSet, dict[str, Any]]:
    text, _, rest = path.read_text().partition("\n---\n")
    problems = Problems()
    tree = read_text(text + "\n", path.name, problems)
    assert tree is not None, problems.found
    corrections = build_corrections(tree, None, problems)
    assert corrections is not None, [str(problem) for problem in problems.found]
    return corrections, YAML(typ="safe").load(rest)


def test_every_transformation_has_a_golden_file() -> None:
    names = {kind.name for kind in all_transformations()}
    assert names == {path.stem for path in FOLDER.glob("*.yml")}
    for name in names:
        assert f"transform: {name}," in (FOLDER / f"{name}.yml").read_text()


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yml")), ids=lambda path: path.stem)
def test_golden(path: Path, spark: SparkSession) -> None:
    from pyspark.sql.types import StructType

    written, data = _read(path)
    ids = [correction.id for correction in written.corrections]
    schema = StructType.fromDDL(f"{NUMBER} INT, {data['schema']}, {BROKEN} array<string>, {UNFIT} map<string,string>")
    values = [
        value_of(schema, {NUMBER: n, BROKEN: row["broken"], UNFIT: row.get("unfit", {})} | row["row"])
        for n, row in enumerate(data["rows"])
    ]
    references = {}
    for name, table in data.get("references", {}).items():
        shape = StructType.fromDDL(table["schema"])
        rows = [value_of(shape, dict(zip(shape.names, row, strict=True))) for row in table["rows"]]
        references[name] = spark.createDataFrame(rows, shape)
    frame = spark.createDataFrame(values, schema).coalesce(1)
    tried = corrected(frame, written.active, reader(references, "/nowhere", frame), 1000, carried=(NUMBER,))

    assert {ids[n] for n in tried.unusable} == set(data.get("unusable", []))
    assert [(f.name, f.dataType) for f in tried.frame.schema][: len(schema)] == [(f.name, f.dataType) for f in schema]
    wrong = []
    for found in tried.frame.collect():
        row = data["rows"][found[NUMBER]]
        wanted = value_of(schema, row["row"] | row.get("becomes", {}))
        columns = slice(1, len(schema) - 2)
        seen = {
            "row": comparable(tuple(found)[columns]),
            "tried": [ids[n] for n in found[TRIED]],
            "applied": [ids[n] for n in found[APPLIED]],
            "left": found[UNFIT],
        }
        expected = {
            "row": comparable(wanted[columns]),
            "tried": row.get("tried", row.get("applied", [])),
            "applied": row.get("applied", []),
            "left": row.get("left", {}),
        }
        assert set(row.get("becomes", {})) <= set(found[CHANGED])
        if seen != expected:
            wrong += [f"row {found[NUMBER]}: {row}", f"  expected {expected}", f"  found    {seen}"]
    assert not wrong, "\n".join(wrong)
