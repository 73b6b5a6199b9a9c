"""What an object is doing: views of job kinds here, the rules of reference/classification.md beside them."""
