"""The hafnian and the loop hafnian: tables, program, pairs, photons (mathematics), launch (sizes), rule, api."""
