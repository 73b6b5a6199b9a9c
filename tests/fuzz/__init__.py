"""Random graphs by the hundred thousand: ``python -m tests.fuzz``."""
