"""The real kernel checks random scenarios: which quantities of a run the simulator gives as Linux does."""
