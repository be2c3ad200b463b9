"""Parameter studies: the points of a sweep or a sample as data, and charts of them, which `plot` and `report` draw."""
