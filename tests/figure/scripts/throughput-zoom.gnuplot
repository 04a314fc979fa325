set terminal svg size 1000,461 dynamic font 'sans-serif,13' background 'white' noenhanced
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
set label "a title" at screen 0.084000, screen 0.968764 left front
plot NaN
reset
set lmargin at screen 0.084000
set rmargin at screen 0.970000
set tmargin at screen 0.898482
set bmargin at screen 0.573102
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "Bytes per second, means of 5 ms" at screen 0.084000, screen 0.919957 left front
set xrange [9:10.000000001]
set xtics ("" 9, "" 9.1, "" 9.2, "" 9.3, "" 9.4, "" 9.5, "" 9.6, "" 9.7, "" 9.8, "" 9.9, "" 10)
set key at screen 0.970000, screen 0.937527 right top horizontal Left reverse samplen 1
set object rectangle from 9, graph 0 to 9, graph 1 behind fillcolor rgb '#f0e0f7' fillstyle solid noborder
set object rectangle from 9, graph 0 to 10, graph 1 behind fillcolor rgb '#f7dced' fillstyle solid noborder
$line0 << EOD
9 819200
9.085 0
9.17 0
9.255 0
9.34 0
9.425 0
9.51 0
9.595 0
9.68 0
9.765 0
9.85 0
9.935 0
# 402 rows; sums 783263.5 5.607424e+09 0 0 0 0
EOD
$line1 << EOD
9 0
9.085 0
9.17 0
9.255 0
9.34 0
9.425 0
9.51 0
9.595 0
9.68 0
9.765 0
9.85 0
9.935 0
# 402 rows; sums 783263.5 2.1471232e+09 0 0 0 0
EOD
$line2 << EOD
9 819200
9.085 0
9.17 0
9.255 0
9.34 0
9.425 0
9.51 0
9.595 0
9.68 0
9.765 0
9.85 0
9.935 0
# 402 rows; sums 783263.5 2457600 0 0 0 0
EOD
set yrange [0:8000000]
set ytics ("0" 0, "2 MB/s" 2000000, "4 MB/s" 4000000, "6 MB/s" 6000000, "8 MB/s" 8000000)
plot $line0 with lines linewidth 1.4 linecolor rgb '#1e90ff' title "read", $line1 with lines linewidth 1.4 linecolor rgb '#0000a0' title "block.read", $line2 with lines linewidth 1.4 linecolor rgb '#660033' title "block.write"
reset
set lmargin at screen 0.084000
set rmargin at screen 0.970000
set tmargin at screen 0.512364
set bmargin at screen 0.186985
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "Operations per second, means of 5 ms" at screen 0.084000, screen 0.533839 left front
set xrange [9:10.000000001]
set xtics ("" 9, "" 9.1, "" 9.2, "" 9.3, "" 9.4, "" 9.5, "" 9.6, "" 9.7, "" 9.8, "" 9.9, "" 10)
set key at screen 0.970000, screen 0.551410 right top horizontal Left reverse samplen 1
set object rectangle from 9, graph 0 to 9, graph 1 behind fillcolor rgb '#f0e0f7' fillstyle solid noborder
set object rectangle from 9, graph 0 to 10, graph 1 behind fillcolor rgb '#f7dced' fillstyle solid noborder
$line0 << EOD
9 200
9.085 0
9.17 0
9.255 0
9.34 0
9.425 0
9.51 0
9.595 0
9.68 0
9.765 0
9.85 0
9.935 0
# 402 rows; sums 783263.5 242400 0 0 0 0
EOD
$line1 << EOD
9 0
9.085 0
9.17 0
9.255 0
9.34 0
9.425 0
9.51 0
9.595 0
9.68 0
9.765 0
9.85 0
9.935 0
# 402 rows; sums 783263.5 241800 0 0 0 0
EOD
$line2 << EOD
9 200
9.085 0
9.17 0
9.255 0
9.34 0
9.425 0
9.51 0
9.595 0
9.68 0
9.765 0
9.85 0
9.935 0
# 402 rows; sums 783263.5 600 0 0 0 0
EOD
set yrange [0:200]
set ytics ("0" 0, "50" 50, "100" 100, "150" 150, "200" 200)
plot $line0 with lines linewidth 1.4 linecolor rgb '#1e90ff' title "read", $line1 with lines linewidth 1.4 linecolor rgb '#0000a0' title "block.read", $line2 with lines linewidth 1.4 linecolor rgb '#660033' title "block.write"
reset
set lmargin at screen 0.084000
set rmargin at screen 0.970000
set tmargin at screen 0.126247
set bmargin at screen 0.069848
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "Phases" at screen 0.084000, screen 0.147722 left front
set xrange [9:10.000000001]
set xtics ("9 s" 9, "9.1 s" 9.1, "9.2 s" 9.2, "9.3 s" 9.3, "9.4 s" 9.4, "9.5 s" 9.5, "9.6 s" 9.6, "9.7 s" 9.7, "9.8 s" 9.8, "9.9 s" 9.9, "10 s" 10)
set key at screen 0.970000, screen 0.165293 right top horizontal Left reverse samplen 1
set label "CHECKPOINT" at screen 0.527000, screen 0.098048 center front
set yrange [0:1]
unset ytics
set border 1
$phases << EOD
9 9 0xc78ee3
9 10 0xe07ebc
EOD
plot $phases using 1:(0.5):1:2:(0):(1):3 with boxxyerror fillstyle solid noborder linecolor rgb variable notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#c78ee3' title "EVAL", NaN with boxes fillstyle solid noborder linecolor rgb '#e07ebc' title "CHECKPOINT", $phases using 1:(0):(0):(1) with vectors nohead linewidth 0.7 linecolor rgb 'black' notitle
unset multiplot
