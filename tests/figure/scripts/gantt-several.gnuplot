set terminal svg size 1000,156 dynamic font 'sans-serif,13' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.070000
set rmargin at screen 0.986000
set tmargin at screen 0.676923
set bmargin at screen 0.523077
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "one" at screen 0.070000, screen 0.740385 left front
set xrange [0:4]
set xtics ("" 0, "" 0.5, "" 1, "" 1.5, "" 2, "" 2.5, "" 3, "" 3.5, "" 4)
set grid noytics
set yrange [1.5:-0.5]
set ytics scale 0 ("device 0" 0)
set key at screen 0.986000, screen 0.930769 right top horizontal Left reverse samplen 1
$bars << EOD
0.5 0 0 1 -0.44 0.44 0x56b4e9
EOD
$numbers << EOD
0 -9 0
EOD
plot $bars using 1:2:3:4:5:6:7 with boxxyerror fillstyle solid border rgb 'white' linecolor rgb variable notitle, $numbers using 1:2:3 with labels font ',11' notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#56b4e9' title "forward", NaN with boxes fillstyle solid noborder linecolor rgb '#009e73' title "weight gradient"
reset
set lmargin at screen 0.070000
set rmargin at screen 0.986000
set tmargin at screen 0.361538
set bmargin at screen 0.207692
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "two" at screen 0.070000, screen 0.425000 left front
set xrange [0:4]
set xtics ("0 s" 0, "0.5 s" 0.5, "1 s" 1, "1.5 s" 1.5, "2 s" 2, "2.5 s" 2.5, "3 s" 3, "3.5 s" 3.5, "4 s" 4)
set grid noytics
set yrange [1.5:-0.5]
set ytics scale 0 ("device 0" 0)
$bars << EOD
2 0 0 4 -0.44 0.44 0x009e73
EOD
$numbers << EOD
0 -9 0
EOD
plot $bars using 1:2:3:4:5:6:7 with boxxyerror fillstyle solid border rgb 'white' linecolor rgb variable notitle, $numbers using 1:2:3 with labels font ',11' notitle
unset multiplot
