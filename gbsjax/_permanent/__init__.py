"""The permanent: program (mathematics), launch (sizes), rule (derivative), api (public function)."""
