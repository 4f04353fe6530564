import os

# Tests run tiny models, side by side: threads would only wait for one another. Set before torch is imported,
# and inherited by the commands the tests start.
os.environ["OMP_NUM_THREADS"] = "1"
