"""Every value of a JSON document by its path, and the document with one value changed or left out."""

import copy


def leaves(content, path=()):
    """Paths to all values that are neither objects nor lists."""
    if isinstance(content, dict | list) and content:
        items = content.items() if isinstance(content, dict) else enumerate(content)
        return [leaf for key, value in items for leaf in leaves(value, (*path, key))]
    return [path]


def at(content, path):
    for key in path:
        content = content[key]
    return content


def put(content, path, value):
    content = copy.deepcopy(content)
    at(content, path[:-1])[path[-1]] = value
    return content


def without(content, path):
    content = copy.deepcopy(content)
    del at(content, path[:-1])[path[-1]]
    return content


def kind_of(path):
    """Fields of one kind differ in positions only."""
    return tuple("…" if isinstance(key, int) else key for key in path)
