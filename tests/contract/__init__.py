"""The contract, clause by clause: each test is a sentence and cites what it proves."""
