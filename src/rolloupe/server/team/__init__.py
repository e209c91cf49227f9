"""A team's server: who asks, what each person may see and do, and what nobody may.

`rolloupe view` imports none of it. The people come from a proxy that has authenticated them; their roles and their
runs from one file.
"""
