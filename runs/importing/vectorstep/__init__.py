"""Reading the database of another VectorStep: SQLite, the layout of the releases before this one."""
