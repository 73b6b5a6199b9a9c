"""Many Workloads on a real API server, and what they cost a controller: for the benches, and small for the tests."""
