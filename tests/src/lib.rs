//! What the suites share: where the data is, and what to do where a tool is missing.
