# SPDX-License-Identifier: GPL-2.0
# Judges listings of rds-info: no line is longer than "most", and each cell begins or ends where
# its title does.  A table is "Name:", a line of titles, its rows, and an empty line.

function fails(why)
{
	print "# " why ": " $0
	bad = 1
}

# The words of a line: where each begins and ends
function words_of(line, begin, end,    n, at)
{
	for (at = 1; match(substr(line, at), /[^ ]+/); at = end[n] + 1) {
		begin[++n] = at + RSTART - 1
		end[n] = begin[n] + RLENGTH - 1
	}
	return n + 0
}

length($0) > most { fails(length($0) " columns") }
/^$/ { titles = 0; next }
/^[A-Z][A-Za-z ]*:$/ { above = 1; tables++; next }
above { above = 0; titles = words_of($0, from, to); next }
titles && !/^\(/ {
	if (words_of($0, begin, end) != titles)
		fails("not " titles " cells")
	for (i = 1; i <= titles; i++)
		if (begin[i] != from[i] && end[i] != to[i])
			fails("cell " i " is not below its title")
	rows++
}

END {
	if (!tables || rows < least)
		print "# " tables + 0 " tables, " rows + 0 " rows"
	exit bad || !tables || rows < least
}
