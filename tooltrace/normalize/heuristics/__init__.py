"""Rules that recognise failures by words and shapes, where no protocol is declared."""
