"""Studies: `python -m experiments.<study>`; run() writes one JSON artifact, plot() reads only the artifact."""
