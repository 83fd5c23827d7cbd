"""Attacks on the promise: exact where outcomes can be counted, sharp where noise is known, statistical elsewhere."""
