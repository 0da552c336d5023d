"""Files: safe reading of damaged or untrusted files, and atomic writing."""
