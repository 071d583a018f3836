"""Checked analysis essays about single messages of recorded AI-coding sessions."""

__version__ = "0.1.0"
