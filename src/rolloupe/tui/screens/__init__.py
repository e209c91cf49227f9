"""The screens: what keys do, and which question follows from it."""
