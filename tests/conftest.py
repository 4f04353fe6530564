import os

# Tests run tiny models, side by side: threads would only wait for one another. Set before torch is imported,
# and inherited by the commands the tests start.
os.environ["OMP_NUM_THREADS"] = "1"
# Nothing is fetched: whatever a library would ask the hub for is told at once that there is no hub.
os.environ["HF_HUB_OFFLINE"] = "1"
