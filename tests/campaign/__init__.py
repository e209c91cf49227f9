"""A campaign of files as strangers write them: folders made from a seed, opened by the public faces, and compared."""
