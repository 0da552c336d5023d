"""All readers: importing this module fills the table."""
