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
set label "run.db" at screen 0.084000, screen 0.968764 left front
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
set label "Bytes per second, means of 1 s" at screen 0.084000, screen 0.919957 left front
set xrange [0:10.000000001]
set xtics ("" 0, "" 1, "" 2, "" 3, "" 4, "" 5, "" 6, "" 7, "" 8, "" 9, "" 10)
set key at screen 0.970000, screen 0.937527 right top horizontal Left reverse samplen 1
set object rectangle from 0, graph 0 to 1, graph 1 behind fillcolor rgb '#d9d9ff' fillstyle solid noborder
set object rectangle from 1, graph 0 to 8, graph 1 behind fillcolor rgb '#fff9d9' fillstyle solid noborder
set object rectangle from 8, graph 0 to 9, graph 1 behind fillcolor rgb '#f0e0f7' fillstyle solid noborder
set object rectangle from 9, graph 0 to 10, graph 1 behind fillcolor rgb '#f7dced' fillstyle solid noborder
$line0 << EOD
0 61440
1 208896
2 245760
3 61440
4 208896
5 245760
6 61440
7 208896
8 245760
9 61440
10 0
# 22 rows; sums 1815 34025472 0 0 0 0
EOD
$line1 << EOD
0 0
1 0
2 0
3 0
4 0
5 0
6 0
7 0
8 0
9 8.38861e+06
10 0
# 22 rows; sums 1815 327155790 0 0 0 0
EOD
$line2 << EOD
0 28672
1 28672
2 28672
3 28672
4 28672
5 28672
6 28672
7 28672
8 28672
9 28672
10 0
# 22 rows; sums 1815 6021120 0 0 0 0
EOD
$line3 << EOD
0 4096
1 8192
2 16384
3 4096
4 8192
5 16384
6 4096
7 8192
8 16384
9 4096
10 0
# 22 rows; sums 1815 1941504 0 0 0 0
EOD
set yrange [0:10000000]
set ytics ("0" 0, "5 MB/s" 5000000, "10 MB/s" 10000000)
plot $line0 with lines linewidth 1.4 linecolor rgb '#1e90ff' title "read", $line1 with lines linewidth 1.4 linecolor rgb '#ff0000' title "write", $line2 with lines linewidth 1.4 linecolor rgb '#0000a0' title "block.read", $line3 with lines linewidth 1.4 linecolor rgb '#660033' title "block.write"
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
set label "Operations per second, means of 1 s" at screen 0.084000, screen 0.533839 left front
set xrange [0:10.000000001]
set xtics ("" 0, "" 1, "" 2, "" 3, "" 4, "" 5, "" 6, "" 7, "" 8, "" 9, "" 10)
set key at screen 0.970000, screen 0.551410 right top horizontal Left reverse samplen 1
set object rectangle from 0, graph 0 to 1, graph 1 behind fillcolor rgb '#d9d9ff' fillstyle solid noborder
set object rectangle from 1, graph 0 to 8, graph 1 behind fillcolor rgb '#fff9d9' fillstyle solid noborder
set object rectangle from 8, graph 0 to 9, graph 1 behind fillcolor rgb '#f0e0f7' fillstyle solid noborder
set object rectangle from 9, graph 0 to 10, graph 1 behind fillcolor rgb '#f7dced' fillstyle solid noborder
$line0 << EOD
0 4
1 4
2 4
3 4
4 4
5 4
6 4
7 4
8 4
9 4
10 0
# 22 rows; sums 1815 840 0 0 0 0
EOD
$line1 << EOD
0 0
1 0
2 0
3 0
4 0
5 0
6 0
7 0
8 0
9 1
10 0
# 22 rows; sums 1815 39 0 0 0 0
EOD
$line2 << EOD
0 0
1 0
2 0
3 0
4 0
5 0
6 0
7 0
8 0
9 1
10 0
# 22 rows; sums 1815 39 0 0 0 0
EOD
$line3 << EOD
0 3
1 3
2 3
3 3
4 3
5 3
6 3
7 3
8 3
9 3
10 0
# 22 rows; sums 1815 630 0 0 0 0
EOD
$line4 << EOD
0 1
1 1
2 1
3 1
4 1
5 1
6 1
7 1
8 1
9 1
10 0
# 22 rows; sums 1815 210 0 0 0 0
EOD
set yrange [0:4]
set ytics ("0" 0, "1" 1, "2" 2, "3" 3, "4" 4)
plot $line0 with lines linewidth 1.4 linecolor rgb '#1e90ff' title "read", $line1 with lines linewidth 1.4 linecolor rgb '#ff0000' title "write", $line2 with lines linewidth 1.4 linecolor rgb '#808080' title "sync", $line3 with lines linewidth 1.4 linecolor rgb '#0000a0' title "block.read", $line4 with lines linewidth 1.4 linecolor rgb '#660033' title "block.write"
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
set xrange [0:10.000000001]
set xtics ("0 s" 0, "1 s" 1, "2 s" 2, "3 s" 3, "4 s" 4, "5 s" 5, "6 s" 6, "7 s" 7, "8 s" 8, "9 s" 9, "10 s" 10)
set key at screen 0.970000, screen 0.165293 right top horizontal Left reverse samplen 1
set label "INIT" at screen 0.128300, screen 0.098048 center front
set label "TRAINING" at screen 0.482700, screen 0.098048 center front
set label "EVAL" at screen 0.837100, screen 0.098048 center front
set yrange [0:1]
unset ytics
set border 1
$phases << EOD
0 1 0x7373ff
1 8 0xffe973
8 9 0xc78ee3
9 10 0xe07ebc
EOD
plot $phases using 1:(0.5):1:2:(0):(1):3 with boxxyerror fillstyle solid noborder linecolor rgb variable notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#7373ff' title "INIT", NaN with boxes fillstyle solid noborder linecolor rgb '#ffe973' title "TRAINING", NaN with boxes fillstyle solid noborder linecolor rgb '#c78ee3' title "EVAL", NaN with boxes fillstyle solid noborder linecolor rgb '#e07ebc' title "CHECKPOINT", $phases using 1:(0):(0):(1) with vectors nohead linewidth 0.7 linecolor rgb 'black' notitle
unset multiplot
