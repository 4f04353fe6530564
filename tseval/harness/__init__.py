"""tseval inside lm-eval: its models as a model of lm-eval, its suites as tasks of lm-eval."""
