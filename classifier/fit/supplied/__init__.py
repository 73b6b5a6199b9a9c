"""What there is to stand on: pools as profiles declare them and live nodes show them, worked out once for a state of
both."""
