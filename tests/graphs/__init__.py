"""Random graphs of objects, of the sort an API server accepts, and the laws that hold of what is said of them."""
