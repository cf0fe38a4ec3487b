"""Errors of the store and of files on disk.

CacheError
├── StoreError      the store cannot be opened, is locked, full, or of a newer version
└── FileError       a model file cannot be found, fetched, assembled or derived
"""

from __future__ import annotations


class CacheError(Exception):
    """Something on disk stops the work; its text is one sentence that names the place and the remedy."""


class StoreError(CacheError):
    """The store cannot be opened, is locked, the disk is full, or it was written by a newer version."""


class FileError(CacheError):
    """A model file cannot be found, fetched, assembled or derived."""
