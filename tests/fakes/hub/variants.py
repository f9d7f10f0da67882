"""Repositories that are wrong in themselves: bad pointers, evil trees."""

from .root import Root


def make(root: Root, key: str, name: str) -> dict:
    raise ValueError(f"no variant is called '{name}'")
