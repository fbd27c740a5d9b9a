"""The admission contract a second time: a slow, plain model that shares no code with the product."""
