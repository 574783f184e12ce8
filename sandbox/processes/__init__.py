"""The processes of this machine: start and remember them, ask whether they are well, end them."""
