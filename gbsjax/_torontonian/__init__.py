"""The torontonian and the loop torontonian: program (mathematics), launch (sizes), rule (derivative), api (public)."""
