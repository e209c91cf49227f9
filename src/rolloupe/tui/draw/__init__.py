"""What a line on the screen is made of: pieces of text with ink, wrapping, colours, small charts."""
