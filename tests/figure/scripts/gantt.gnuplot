set terminal svg size 1000,146 dynamic font 'sans-serif,13' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0
set rmargin at screen 1
set tmargin at screen 1
set bmargin at screen 0
unset border
unset tics
unset key
set xrange [0:1]
set yrange [0:1]
set label "a run" at screen 0.070000, screen 0.901370 left front
plot NaN
reset
set lmargin at screen 0.070000
set rmargin at screen 0.986000
set tmargin at screen 0.580822
set bmargin at screen 0.252055
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set xrange [0:4]
set xtics ("0 s" 0, "0.5 s" 0.5, "1 s" 1, "1.5 s" 1.5, "2 s" 2, "2.5 s" 2.5, "3 s" 3, "3.5 s" 3.5, "4 s" 4)
set grid noytics
set yrange [1.5:-0.5]
set ytics scale 0 ("device 0" 0, "device 1" 1)
set key at screen 0.986000, screen 0.716438 right top horizontal Left reverse samplen 1
$bars << EOD
0.5 0 0 1 -0.44 0.44 0x56b4e9
1.005 0 1 1.01 -0.44 0.44 0xaad9f4
3 -0.22 2 4 -0.44 0 0x56b4e9
3 0.22 2 4 0 0.44 0xe5bcd3
1.5 1 1 2 0.56 1.44 0x56b4e9
2.5 1 2 3 0.56 1.44 0xf2cf7f
3.5 1 3 4 0.56 1.44 0x7fceb9
EOD
$numbers << EOD
0.5 0 0
1.5 1 0
2.5 1 0
3.5 1 0
EOD
plot $bars using 1:2:3:4:5:6:7 with boxxyerror fillstyle solid border rgb 'white' linecolor rgb variable notitle, $numbers using 1:2:3 with labels font ',11' notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#56b4e9' title "forward", NaN with boxes fillstyle solid noborder linecolor rgb '#e69f00' title "input gradient", NaN with boxes fillstyle solid noborder linecolor rgb '#009e73' title "weight gradient", NaN with boxes fillstyle solid noborder linecolor rgb '#cc79a7' title "backward"
unset multiplot
