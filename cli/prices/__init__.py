"""`warmline size prices`: the command, the AWS price list behind it, and how prices are told."""
