"""Properties: the native controller against the plain model, at random and exhaustively."""
