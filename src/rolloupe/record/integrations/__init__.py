"""Recording from inside of other people's trainers, one module a framework; see docs/integrations.md.

Each is imported by those who have its framework. Nothing of Rolloupe imports one.
"""
