"""Side by side with ns-2: the same dumbbells on both simulators, for validity and for speed."""
