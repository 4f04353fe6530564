import os

# Tests run tiny models, side by side: threads would only wait for one another. Set before torch is imported,
# and inherited by the commands the tests start.
os.environ["OMP_NUM_THREADS"] = "1"

# Tests load models from folders they made; a library that would ask a hub for more must fail instead.
os.environ["HF_HUB_OFFLINE"] = "1"
