"""Files that may be damaged, cut off or changed by others: read with care, written whole."""
