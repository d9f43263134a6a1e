"""Mentor policies, one a module or folder; base.py says what each offers. fdcg/ is the paper's."""
