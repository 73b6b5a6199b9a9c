"""Random objects of every kind as the API server sends them for review, and the laws each answer keeps."""
