"""What load generators measured, what it is worth as evidence, and what it says of one replica."""
