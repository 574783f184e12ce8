"""What the plans take to buy: nodes, quota and subnets, money, and who pays."""
