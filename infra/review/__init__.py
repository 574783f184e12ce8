"""What a change does to a stack: two renders compared, judged, and told in Markdown."""
