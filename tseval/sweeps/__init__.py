"""Sweeps: many models on many suites, by workers that may be started, killed and started again.

A plan names units of work, each of which gives one run directory. What is known of a unit lies on disk, and
so does the lock of whoever works on it (`units`). A worker is a program that does units until none is left
(`worker`); an engine only starts workers and waits (`engines`). A run does not know that a sweep made it.
"""

from tseval.sweeps.run import STATE, SweepResult, UnitState, Watcher, Workforce, states_of, sweep

__all__ = ["STATE", "SweepResult", "UnitState", "Watcher", "Workforce", "states_of", "sweep"]
