"""Tools of other frameworks as registered tools."""
