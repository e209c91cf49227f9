"""What a model may do for its reward beside answering well. One module for each."""
