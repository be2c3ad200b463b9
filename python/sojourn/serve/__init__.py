"""The lab's page on this machine, with its engines and results: what `sojourn serve` does.

`server` binds and ends it; `app` has the requests, which `security` lets through; `texts` makes scenarios of what the
page sends, `jobs` runs them, `results` reads what is there. docs/guide/serve.md describes the interface over HTTP.

Starlette and uvicorn are the extra `sojourn[serve]`; only `app` and `server` load them.
"""
