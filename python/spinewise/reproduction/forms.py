"""The forms of an experiment that head the verdicts: their runs come first, and pages show their figures.

Also the form that shows what a check tests.
"""

from __future__ import annotations

from collections.abc import Sequence

from spinewise.reproduction.catalogue import Statement
from spinewise.reproduction.experiment import Claim, Experiment


def headline_forms(experiment: Experiment, forms: Sequence[str]) -> list[str]:
    """The forms of the headline readings of an experiment; empty if no reading heads a verdict.

    A reading ends with the name of its form ("CLOVE, ECN-TCP" with "ECN-TCP") or the other way round, or a form goes
    on from it ("Reno" to "Reno, whole"); one without a name is of all forms.
    """
    readings = {claim.reading for claim in experiment.claims if claim.headline}
    found = {form for reading in readings for form in of_reading(reading, forms)}
    return [form for form in forms if form in found]


def of_reading(reading: str, forms: Sequence[str]) -> list[str]:
    """The forms that one reading is about."""
    if not reading:
        return list(forms)
    exact = [form for form in forms if not form or covers(reading, form) or covers(form, reading)]
    if exact:
        return exact
    last = reading.rsplit(", ", maxsplit=1)[-1]
    longer = [form for form in forms if form.startswith(f"{last}, ")]
    fewest = min((form.count(", ") for form in longer), default=0)
    return [form for form in longer if form.count(", ") == fewest]


def covers(reading: str, form: str) -> bool:
    """Whether the last words of a reading are those of a form, whole."""
    return f", {reading}".replace("; ", ", ").endswith(f", {form}")


def form_of(experiment: Experiment, claim: Claim, forms: Sequence[str]) -> str:
    """The form, of those that have a figure, that shows what a claim checks.

    The one that it names; else the one with the longest name in its reading; else the first that has the panel that
    the check uses ("5c" of "5c,d"); else the first.
    """
    if claim.form in forms and claim.form:
        return claim.form
    named = [form for form in forms if form and form in claim.reading]
    if named:
        return max(named, key=len)
    looked = claim.figure.partition(",")[0]
    with_panel = [
        form for form in forms if any((one.variant, one.figure) == (form, looked) for one in experiment.panels)
    ]
    return (with_panel or list(forms))[0]


def shown_in(experiment: Experiment, statement: Statement, forms: Sequence[str]) -> list[str]:
    """The forms that show the headline checks of a statement; empty without a figure."""
    if not forms:
        return []
    heads = [one for one in experiment.claims if one.headline and one.id in (statement.id, *statement.ids)]
    return list(dict.fromkeys(form_of(experiment, one, forms) for one in heads))
