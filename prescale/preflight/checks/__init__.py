"""One module for each topic, one small function for each thing that can be wrong; `table` lists them all."""
