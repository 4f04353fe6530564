"""Files of torch, read without running what they say: published modules, and plain data of our own."""
