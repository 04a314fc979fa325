set terminal svg size 672,208 dynamic font 'sans-serif,10' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.104167
set rmargin at screen 0.979167
set tmargin at screen 0.959615
set bmargin at screen 0.613462
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set xrange [0:3]
set xtics ("" 0, "" 0.5, "" 1, "" 1.5, "" 2, "" 2.5, "" 3)
set grid noytics
set yrange [2.5:-0.5]
set ytics scale 0 ("device 0" 0, "device 1" 1, "device 2" 2)
$bars << EOD
0.5 -0.1144 0 1 -0.44 0.2112 0x56b4e9
1.25 0.3256 1 1.5 0.2112 0.44 0x999999
1.5 1.326 1 2 1.211 1.44 0xd55e00
2.5 1.886 2 3 1.56 2.211 0xb8a900
EOD
$numbers << EOD
0.5 -0.1144 0
EOD
plot $bars using 1:2:3:4:5:6:7 with boxxyerror fillstyle solid border rgb 'white' linecolor rgb variable notitle, $numbers using 1:2:3 with labels font ',8.5' notitle
reset
set lmargin at screen 0.104167
set rmargin at screen 0.979167
set tmargin at screen 0.519231
set bmargin at screen 0.134615
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "activations" at screen 0.104167, screen 0.556250 left front
set xrange [0:3]
set xtics ("0 s" 0, "0.5 s" 0.5, "1 s" 1, "1.5 s" 1.5, "2 s" 2, "2.5 s" 2.5, "3 s" 3)
set yrange [0:3221225472]
set ytics ("0" 0, "1 GiB" 1073741824, "2 GiB" 2147483648, "3 GiB" 3221225472)
set key at screen 0.979167, screen 0.586538 right top horizontal Left reverse samplen 1
$memory0 << EOD
0 0
0 0
0.5 3e+09
0.5 1e+09
3 1e+09
EOD
$memory1 << EOD
0 0
0 1e+09
0 1e+09
3 1e+09
EOD
$memory2 << EOD
0 0
0 0
1 500000000
1 500000000
3 500000000
EOD
plot $memory0 using 1:2 with steps linewidth 1 linecolor rgb '#d55e00' title 'device 1', $memory1 using 1:2 with steps linewidth 1 linecolor rgb '#0072b2' title 'device 0', $memory2 using 1:2 with steps linewidth 1 linecolor rgb '#009e73' title 'device 2'
unset multiplot
