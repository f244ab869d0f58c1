# A text file becomes a C string literal, a line each.
s/["\\]/\\&/g
s/^/"/
s/$/\\n"/
