"""Validation figures of the documents: short runs beside closed forms and published values (`make docs`)."""
