"""What the server and the report send to a browser: typed records, and how they follow from the common model.

`tools/typescript.py` generates the page's TypeScript types from these records, so each field is named once.
"""
