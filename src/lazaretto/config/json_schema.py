"""JSON Schema of suite, correction and project files, derived from the catalogue and the models, for editors.

It says a little less than the loader knows: what needs SQL, other files or two keys at once is left to
`lazaretto validate`. What it refuses, the loader refuses too.
"""

from __future__ import annotations

from typing import Any

import lazaretto.checks
import lazaretto.transformations  # noqa: F401 - like the checks, it fills its list
from lazaretto.config.project import Project
from lazaretto.config.shaping import keys_of
from lazaretto.model import catalogue
from lazaretto.model.correction import Correction, CorrectionSet, Transformation, all_transformations
from lazaretto.model.description import summary
from lazaretto.model.rule import RESERVED_PREFIX, Rule
from lazaretto.model.suite import Suite
from lazaretto.model.values import Threshold
from lazaretto.model.words import Takes

Schema = dict[str, Any]

DRAFT = "https://json-schema.org/draft/2020-12/schema"
_VARIABLE: Schema = {"type": "string", "pattern": r"\$\{[^{}]+\}"}
_TEXT = ["string", "number", "boolean"]  # where text is meant, `1.10` and `true` are read as text
_ONE_OR_MANY = ("key", "extends")


def json_schema() -> Schema:
    """The schema of suite files: one suite, or one source system with several entities."""
    checks = catalogue.all_checks()
    definitions: Schema = {"variable": _VARIABLE}
    suite_keys = _keys(Suite, definitions)
    suite_keys["rules"] = {
        "type": "array",
        "items": {"$ref": "#/$defs/rule"},
        "description": _doc(Suite, "rules"),
    }
    for key in _ONE_OR_MANY:
        suite_keys[key] = {"anyOf": [{"type": "string"}, suite_keys[key]], "description": _doc(Suite, key)}
    for key, schema in _keys(Rule, definitions).items():
        definitions[f"rule.{key}"] = schema
    for check in checks:
        definitions[f"check.{check.name}"] = _check(check, definitions)
    definitions["rule"] = _rule(checks)
    definitions["complete_rule"] = _complete_rule(checks)
    definitions |= _files(suite_keys)
    return {
        "$schema": DRAFT,
        "title": "Lazaretto suite",
        "description": "Rules that guard one asset, or those of one source system by entity.",
        "type": "object",
        "if": {"required": ["entities"]},
        "then": {"$ref": "#/$defs/entities_file"},
        "else": {"$ref": "#/$defs/suite_file"},
        "$defs": definitions,
    }


def project_schema() -> Schema:
    """The schema of lazaretto.yml."""
    definitions: Schema = {"variable": _VARIABLE}
    return {
        "$schema": DRAFT,
        "title": "Lazaretto project",
        "type": "object",
        "properties": _keys(Project, definitions),
        "required": [key for key, field in keys_of(Project).items() if field.is_required()],
        "additionalProperties": False,
        "$defs": definitions,
    }


def corrections_schema() -> Schema:
    """The schema of correction files: one dataset, or one source system with several entities."""
    kinds = all_transformations()
    definitions: Schema = {"variable": _VARIABLE}
    for kind in kinds:
        own = _keys(kind, definitions) | {"transform": {"const": kind.name, "description": summary(kind)}}
        definitions[f"transformation.{kind.name}"] = {
            "title": kind.name,
            "description": summary(kind),
            "type": "object",
            "properties": own,
            "required": [key for key, field in keys_of(kind).items() if field.is_required()],
            "additionalProperties": False,
        }
    named = {
        "description": _doc(Transformation, "transform"),
        "enum": [kind.name for kind in kinds],
        "markdownEnumDescriptions": [summary(kind) for kind in kinds],
    }
    definitions["transformation"] = {
        "type": "object",
        "required": ["transform"],
        "properties": {"transform": named},
        "allOf": [
            {
                "if": {"properties": {"transform": {"const": kind.name}}, "required": ["transform"]},
                "then": {"$ref": f"#/$defs/transformation.{kind.name}"},
            }
            for kind in kinds
        ],
    }
    correction = _keys(Correction, definitions)
    correction["transformations"] = {
        "type": "array",
        "minItems": 1,
        "items": {"$ref": "#/$defs/transformation"},
        "description": _doc(Correction, "transformations"),
    }
    definitions["correction"] = {"type": "object", "properties": correction, "additionalProperties": False}
    keys = _keys(CorrectionSet, definitions)
    keys["corrections"] = {
        "type": "array",
        "items": {"$ref": "#/$defs/correction"},
        "description": _doc(CorrectionSet, "corrections"),
    }
    keys["extends"] = {"anyOf": [{"type": "string"}, keys["extends"]], "description": _doc(CorrectionSet, "extends")}
    one = {"items": {"required": ["id", "match", "transformations"]}, "minItems": 1}
    complete = {
        "required": [key for key, field in keys_of(CorrectionSet).items() if field.is_required()],
        "properties": {"corrections": one},
    }
    definitions |= _shapes(keys, complete, one="corrections_file", unshared=("entity",))
    return {
        "$schema": DRAFT,
        "title": "Lazaretto corrections",
        "description": "What to try on rejected records of a table, or those of one source system by entity.",
        "type": "object",
        "if": {"required": ["entities"]},
        "then": {"$ref": "#/$defs/entities_file"},
        "else": {"$ref": "#/$defs/corrections_file"},
        "$defs": definitions,
    }


def _files(suite_keys: Schema) -> Schema:
    """The two shapes of a suite file."""
    required = [key for key, field in keys_of(Suite).items() if field.is_required()]
    complete = {
        "required": required,
        "properties": {"rules": {"items": {"$ref": "#/$defs/complete_rule"}, "minItems": 1}},
    }
    return _shapes(suite_keys, complete, one="suite_file", unshared=("suite", "entity"))


def _shapes(keys: Schema, complete: Schema, *, one: str, unshared: tuple[str, ...]) -> Schema:
    """The two shapes of a file. What a preset may bring is required only where none is extended."""
    shared = {key: schema for key, schema in keys.items() if key not in unshared}
    entities = {
        "description": "The entities of the source system: name → suite, with the shared keys merged in.",
        "type": "object",
        "minProperties": 1,
        "additionalProperties": {"type": "object", "properties": keys, "additionalProperties": False},
    }
    return {
        one: {
            "type": "object",
            "properties": keys,
            "additionalProperties": False,
            "if": {"required": ["extends"]},
            "else": complete,
        },
        "entities_file": {
            "type": "object",
            "properties": shared | {"entities": entities},
            "required": ["source_system", "entities"],
            "additionalProperties": False,
        },
    }


def _rule(checks: tuple[type[Rule], ...]) -> Schema:
    listed = [check for check in checks if not check.name.startswith(RESERVED_PREFIX)]
    named = {
        "description": _doc(Rule, "check"),
        "enum": [check.name for check in checks],
        "markdownEnumDescriptions": [summary(check) for check in checks],
    }
    branches = [_when(check, {"$ref": f"#/$defs/check.{check.name}"}) for check in (*listed, *_reserved(checks))]
    return {
        "type": "object",
        "required": ["id"],
        "properties": {"id": {"$ref": "#/$defs/rule.id"}, "check": named},
        "allOf": branches,
    }


def _complete_rule(checks: tuple[type[Rule], ...]) -> Schema:
    """A rule that no preset completes."""
    named_or_built_in = [{"required": ["check"]}, {"properties": {"id": {"pattern": r"^lz\."}}}]
    branches = [_when(check, needs) for check in checks if (needs := _needs(check))]
    return {"allOf": [{"$ref": "#/$defs/rule"}, {"anyOf": named_or_built_in}, *branches]}


def _needs(check: type[Rule]) -> Schema:
    needs: Schema = {}
    fields = keys_of(check)
    if required := [key for key, field in fields.items() if field.is_required() and key not in keys_of(Rule)]:
        needs["required"] = required
    if check.takes in (Takes.ONE, Takes.MANY):
        needs["oneOf"] = [{"required": ["column"]}, {"required": ["columns"]}]
    return needs


def _when(check: type[Rule], then: Schema) -> Schema:
    key = "id" if check.name.startswith(RESERVED_PREFIX) else "check"
    return {"if": {"properties": {key: {"const": check.name}}, "required": [key]}, "then": then}


def _reserved(checks: tuple[type[Rule], ...]) -> list[type[Rule]]:
    return [check for check in checks if check.name.startswith(RESERVED_PREFIX)]


def _check(check: type[Rule], definitions: Schema) -> Schema:
    common = {key: {"$ref": f"#/$defs/rule.{key}"} for key in keys_of(Rule)}
    common["check"] = {"const": check.name, "description": summary(check)}
    if check.takes is Takes.NONE:
        common = {key: schema for key, schema in common.items() if key not in ("column", "columns")}
    own = {key: schema for key, schema in _keys(check, definitions).items() if key not in keys_of(Rule)}
    return {
        "title": check.name,
        "description": summary(check),
        "type": "object",
        "properties": common | own,
        "additionalProperties": False,
    }


def _keys(model: Any, definitions: Schema) -> Schema:
    """Schemas of a model's keys; the models inside it go to the definitions."""
    fields = set(keys_of(model)) - {"rules", "corrections", "transformations"}  # described kind by kind
    whole: Schema = model.model_json_schema(by_alias=True, mode="validation")
    inner: Schema = whole.get("$defs", {})
    keys: Schema = {}
    for key, schema in whole["properties"].items():
        if key in fields:
            keys[key] = _relaxed(schema, inner, definitions)
            default = keys_of(model)[key].default
            if isinstance(default, Threshold):
                keys[key]["default"] = str(default)
    return keys


def _relaxed(schema: Schema, inner: Schema, definitions: Schema) -> Schema:
    """A schema as a YAML file needs it: words in lower case, text as loosely as read, variables anywhere."""
    rest = {key: value for key, value in schema.items() if key not in ("title", "default", "$ref", "anyOf")}
    if schema.get("default") is not None and isinstance(schema["default"], str | int | bool):
        default = schema["default"]
        rest["default"] = default.lower() if isinstance(default, str) and default.isupper() else default
    if "$ref" in schema:
        return rest | _referred(schema["$ref"].rsplit("/", 1)[-1], inner, definitions)
    if "anyOf" in schema:
        return rest | {"anyOf": [_relaxed(member, inner, definitions) for member in schema["anyOf"]]}
    if "enum" in schema:
        words = schema["enum"]
        rest["enum"] = [word.lower() for word in words] if all(str(word).isupper() for word in words) else words
        return {"anyOf": [_without_notes(rest), {"$ref": "#/$defs/variable"}]} | _notes(rest)
    kind = schema.get("type")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            rest[key] = _relaxed(schema[key], inner, definitions)
    if "properties" in schema:
        rest["properties"] = {k: _relaxed(v, inner, definitions) for k, v in schema["properties"].items()}
    if kind == "string" and "pattern" not in schema and "format" not in schema:
        return rest | {"type": _TEXT}
    if kind in ("string", "integer", "number", "boolean", "array"):
        return {"anyOf": [_without_notes(rest), {"$ref": "#/$defs/variable"}]} | _notes(rest)
    return rest


def _referred(name: str, inner: Schema, definitions: Schema) -> Schema:
    relaxed = _relaxed({k: v for k, v in inner[name].items() if k != "description"}, inner, definitions)
    if "properties" not in relaxed:
        return relaxed
    definitions[name] = relaxed
    return {"$ref": f"#/$defs/{name}"}


def _notes(schema: Schema) -> Schema:
    return {key: schema[key] for key in ("description", "default", "examples") if key in schema}


def _without_notes(schema: Schema) -> Schema:
    return {key: value for key, value in schema.items() if key not in ("description", "default", "examples")}


def _doc(model: Any, key: str) -> str:
    return " ".join((keys_of(model)[key].description or "").split())
