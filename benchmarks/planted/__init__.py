"""Errors planted into true essays, each proved false against the recording by code of its own."""
