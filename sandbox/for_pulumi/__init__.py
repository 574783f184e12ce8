"""What plain `pulumi` needs to work against the sandbox. Not named `pulumi`, which is the SDK."""
