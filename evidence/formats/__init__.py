"""Result files behind one table: how each tool's are known and read, one file per tool."""
