"""The screens: what keys do, and which questions they ask."""
