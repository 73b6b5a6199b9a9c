"""The packing of several podsets into pools."""
