"""The classes of cells of text; what they mean is in cells.py and numbers.py."""

MISSING, WHOLE, POINT, COMMA, EITHER_POINT, EITHER_COMMA, DATE, TRUTH, TEXT = range(9)
CLASSES = 9
