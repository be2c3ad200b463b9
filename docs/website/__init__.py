"""The documentation as a site: the Markdown of docs/ as it is, staged for a generator, built, and checked."""
