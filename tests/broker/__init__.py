"""The contract, run against every engine; kafka/ and sqlite/: what is their own; chaos/: crashes."""
