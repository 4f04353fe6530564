"""Sweeps: many models on many suites, by workers that may be started, killed and started again.

A plan names units of work (`plan`), each of which gives one run directory. What is known of a unit lies on
disk (`place`), and so does the lock of whoever works on it. A worker is a program that does units until none
is left (`worker`); an engine only starts workers and waits (`engines`). A run does not know that a sweep made
it.
"""
