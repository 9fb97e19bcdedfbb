"""A web site, read by its sitemap or by its links."""
