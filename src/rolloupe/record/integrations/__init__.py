"""Recording from inside other people's trainers, one module for each framework; see docs/integrations.md.

Import a module only where its framework is installed. Nothing else in Rolloupe imports them.
"""
