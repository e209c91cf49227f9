"""An index that many share in an object store: each has a copy on disk, which works as any index does."""
