"""The commands of this package, which the `tacit` program finds by their entry points."""
