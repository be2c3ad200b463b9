"""Searches over scenarios: the best values of their parameters, and the scenarios in which something does worst.

`study` alone loads Optuna, which is the extra `sojourn[search]`.
"""
