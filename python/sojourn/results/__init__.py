"""Finished runs on disk: each in a folder of its own, or of a large set all in one dataset; and reading both."""

from sojourn.results.content import (
    FILES,
    capture_digests,
    capture_folder,
    capture_names,
    deterministic_files,
)
from sojourn.results.disk import IN_PROGRESS, ResultsError, check_folder
from sojourn.results.folders import check_place, existing, run_folders, write
from sojourn.results.identity import RUN_ID, check_id, digest, seed_of
from sojourn.results.query import QueryError
from sojourn.results.run import FORMAT, MANIFEST, Run, flatten, run_of
from sojourn.results.set import ResultSet, exists, is_one
from sojourn.results.store import MOST_FOLDERS, Form, Store, store
from sojourn.results.upkeep import clean, newest, point_latest

__all__ = [
    "FILES", "FORMAT", "IN_PROGRESS", "MANIFEST", "MOST_FOLDERS", "RUN_ID", "Form", "QueryError", "ResultSet",
    "ResultsError", "Run", "Store", "capture_digests", "capture_folder", "capture_names", "check_folder",
    "check_id", "check_place", "clean", "deterministic_files", "digest", "existing", "exists", "flatten", "is_one",
    "newest", "point_latest", "run_folders", "run_of", "seed_of", "store", "write",
]  # fmt: skip
