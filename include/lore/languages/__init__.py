"""Languages of texts: which one a text is in, its stop words and stems, and words in scripts without spaces."""
