"""Questions to models that only answer: templates of prompts, what they cost, servers that are asked."""
