"""Recording of calls: the decorator, the logger, the recorder, its background thread and its sinks."""
