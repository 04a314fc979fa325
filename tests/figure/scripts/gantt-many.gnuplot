set terminal svg size 1000,610 dynamic font 'sans-serif,13' background 'white' noenhanced
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
set label "a run (64 of 1000 devices)" at screen 0.070000, screen 0.976393 left front
plot NaN
reset
set lmargin at screen 0.070000
set rmargin at screen 0.986000
set tmargin at screen 0.899672
set bmargin at screen 0.060328
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set xrange [0:29.701]
set xtics ("0 s" 0, "5 s" 5, "10 s" 10, "15 s" 15, "20 s" 20, "25 s" 25)
set grid noytics
set yrange [63.5:-0.5]
set ytics scale 0 ("device 0" 0, "device 46" 3, "device 93" 6, "device 140" 9, "device 187" 12, "device 234" 15, "device 281" 18, "device 328" 21, "device 375" 24, "device 421" 27, "device 468" 30, "device 515" 33, "device 562" 36, "device 609" 39, "device 656" 42, "device 703" 45, "device 750" 48, "device 796" 51, "device 843" 54, "device 890" 57, "device 937" 60, "device 984" 63)
set key at screen 0.986000, screen 0.932131 right top horizontal Left reverse samplen 1
$bars << EOD
0.35 0 0 0.7 -0.44 0.44 0x56b4e9
10.35 5 10 10.7 4.56 5.44 0x56b4e9
20.35 10 20 20.7 9.56 10.44 0x56b4e9
0.35 16 0 0.7 15.56 16.44 0x56b4e9
10.35 21 10 10.7 20.56 21.44 0x56b4e9
20.35 26 20 20.7 25.56 26.44 0x56b4e9
0.35 32 0 0.7 31.56 32.44 0x56b4e9
10.35 37 10 10.7 36.56 37.44 0x56b4e9
20.35 42 20 20.7 41.56 42.44 0x56b4e9
0.35 48 0 0.7 47.56 48.44 0x56b4e9
10.35 53 10 10.7 52.56 53.44 0x56b4e9
20.35 58 20 20.7 57.56 58.44 0x56b4e9
# 3840 rows; sums 111382708 310927680 110090624 112674792 307682803 314172557
EOD
$numbers << EOD
0 -9 0
EOD
plot $bars using 1:2:3:4:5:6:7 with boxxyerror fillstyle solid border rgb 'white' linecolor rgb variable notitle, $numbers using 1:2:3 with labels font ',11' notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#56b4e9' title "forward", NaN with boxes fillstyle solid noborder linecolor rgb '#009e73' title "weight gradient"
unset multiplot
