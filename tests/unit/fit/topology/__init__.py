"""Podsets that must stand together."""
