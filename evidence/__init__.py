"""PROOF: result files of load generators, read into sweeps; and the record of what they ran against."""
