set terminal svg size 760,480 dynamic font 'sans-serif,13' background 'white' noenhanced
set title "a title"
set xlabel "an x"
set ylabel "a y"
set border 3
set tics nomirror out
set grid lc rgb '#dddddd'
set key outside above horizontal maxcols 2 left Left reverse
set datafile missing '?'
set yrange [0:]
set xrange [0:]
$lines << EOD
1 1 0.5
2 1.9 1
4 ? 1.75
EOD
plot $lines using 1:1 with lines dt 2 lc rgb '#aaaaaa' title 'perfect scaling', $lines using 1:2 with linespoints pt 7 ps 0.5 lw 2 lc rgb '#0072b2' title "first", $lines using 1:3 with linespoints pt 7 ps 0.5 lw 1 lc rgb '#e69f00' title "second"
