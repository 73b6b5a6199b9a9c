"""What an object is doing and why: the rules of reference/classification.md §C, a module each, and the views of §E."""
