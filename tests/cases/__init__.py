"""Public reports about this kind of system, each told again in this library's words.

A test names the report and the clause that decides. Where the contract answers otherwise than the report asks, the test
follows the contract and says so.
"""
