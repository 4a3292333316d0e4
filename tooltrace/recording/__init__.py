"""Record calls: the decorator and the logger, the recorder, its background thread and its sinks."""
