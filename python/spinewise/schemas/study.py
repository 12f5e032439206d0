"""The JSON Schema of study files (`spinewise sweep STUDY.toml`), made from the keys that `spinewise.studies` reads."""

from __future__ import annotations

from spinewise.schemas.parts import Schema, listed, one_of, table
from spinewise.schemas.spec import DRAFT, TEXT, fault, plain, spec_schema
from spinewise.studies.file import DEFAULT_SEEDS, KEYS, MOST_SEEDS
from spinewise.sweeps.sequential import FEWEST

SEEDS: Schema = {"type": "integer", "minimum": 1, "maximum": MOST_SEEDS}
SHARE = one_of({"type": "number", "exclusiveMinimum": 0, "maximum": 1}, {"type": "string", "pattern": r"^\s*[\d.]+"})


def study_schema() -> Schema:
    """The schema of a study file."""
    made: Schema = {"$schema": DRAFT, "title": "Spinewise study"}
    whole = spec_schema()
    made["definitions"] = whole.pop("definitions")
    tables = {"study": study(whole), "grid": grid(), "first": first(), "stop": stop(), "keep": keep()}
    return made | table({name: tables[name] for name in KEYS}, ["study"], "A grid of runs, repeated over seeds.")


def study(whole: Schema) -> Schema:
    """[study], with the schema of a spec."""
    spec = {key: value for key, value in whole.items() if key not in ("$schema", "title")}
    keys = {
        "name": TEXT | {"description": "Name of the study. [the name of the file]"},
        "spec": one_of(TEXT, spec) | {"description": "The spec that is varied: a file beside this one, or a table."},
        "seeds": one_of(SEEDS, listed({"type": "integer", "minimum": 0}, 1)) | {
            "description": f"How many seeds, counted up from the spec's, or which ones. [{DEFAULT_SEEDS}]"
        },
        "metrics": listed({}, 1) | {"description": 'What is asked of each run, such as "fct_s.p99 of web" or "drops".'},
    }  # fmt: skip
    return table(keys, ["spec"], "What is studied.")


def grid() -> Schema:
    """[grid]: every other key is the path of a key of the spec."""
    broken = {
        "name": TEXT | {"description": "What tables call it."},
        "fault": listed(fault()) | {"description": "What breaks; nothing if it is not given."},
        "detection": plain("[detection]"),
    }
    return {
        "type": "object",
        "description": "The axes of the study: all combinations are run. A key in quotes is one of the spec:"
        ' "transport.min_rto_us" = [200, 1000].',
        "properties": {
            "schemes": listed(TEXT, 1) | {"description": "Schemes or variants, as `compare --schemes` takes them."},
            "loads": listed({"type": "number", "exclusiveMinimum": 0}, 1) | {
                "description": "Loads of all traffic entries that have one."
            },
            "faults": listed(table(broken, ["name"]), 1) | {"description": "What breaks, case by case."},
        },
        "additionalProperties": {"type": "array", "minItems": 1},
    }  # fmt: skip


def first() -> Schema:
    """[first]."""
    text = "Values of axes whose runs come before those of others."
    return {"type": "object", "additionalProperties": {"type": "array", "minItems": 1}, "description": text}


def stop() -> Schema:
    """[stop]."""
    most: Schema = {"type": "integer", "minimum": FEWEST, "maximum": MOST_SEEDS}
    keys = {
        "until_ci": SHARE | {"description": "Add seeds until the first metric is known to this share of its mean."},
        "min_seeds": most | {"description": "Seeds that every point gets."},
        "max_seeds": most | {"description": "Seeds at most."},
    }
    return table(keys, ["until_ci"], "When there are seeds enough.")


def keep() -> Schema:
    """[keep]."""
    flows: Schema = {"type": "boolean", "description": "Are tables of flows kept?"}
    return table({"flows": flows}, about="What is kept besides what is measured.")
