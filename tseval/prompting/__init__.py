"""Questions to models that only answer: prompt templates, cost estimates, and requests to servers."""
