"""Numerics that models and adapters share: devices, matrix products, output layers."""
