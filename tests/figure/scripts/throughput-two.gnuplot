set terminal svg size 672,632 dynamic font 'sans-serif,10' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.125000
set rmargin at screen 0.970238
set tmargin at screen 1.000000
set bmargin at screen 0.968987
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
unset border
unset tics
set xrange [0:1]
set yrange [0:1]
set key at screen 0.970238, screen 0.993354 right top horizontal Left reverse samplen 1
plot NaN with lines linewidth 4 linecolor rgb '#0072b2' title "run.db", NaN with lines linewidth 4 linecolor rgb '#e69f00' title "slow.db"
reset
set lmargin at screen 0.125000
set rmargin at screen 0.955357
set tmargin at screen 0.942405
set bmargin at screen 0.847468
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "read: bytes per second" at screen 0.125000, screen 0.954589 left front
set xrange [0:10.500000001]
set xtics ("" 0, "" 2, "" 4, "" 6, "" 8, "" 10)
$line0 << EOD
0 135168
2 135168
2 153600
4 153600
4 227328
6 227328
6 135168
8 135168
8 153600
10 153600
10 0
10.000000001 0
EOD
$line1 << EOD
0 135168
2 135168
2 153600
4 153600
4 227328
6 227328
6 135168
8 135168
8 153600
10 153600
10 0
10.500000001 0
EOD
set yrange [0:300000]
set ytics ("0" 0, "100 kB/s" 100000, "200 kB/s" 200000, "300 kB/s" 300000)
plot $line0 with lines linewidth 1 linecolor rgb '#0072b2' title "", $line1 with lines linewidth 1 linecolor rgb '#e69f00' title ""
reset
set lmargin at screen 0.125000
set rmargin at screen 0.955357
set tmargin at screen 0.809494
set bmargin at screen 0.714557
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "read: operations per second" at screen 0.125000, screen 0.821677 left front
set xrange [0:10.500000001]
set xtics ("" 0, "" 2, "" 4, "" 6, "" 8, "" 10)
$line0 << EOD
0 4
2 4
2 4
4 4
4 4
6 4
6 4
8 4
8 4
10 4
10 0
10.000000001 0
EOD
$line1 << EOD
0 4
2 4
2 4
4 4
4 4
6 4
6 4
8 4
8 4
10 4
10 0
10.500000001 0
EOD
set yrange [0:4]
set ytics ("0" 0, "1" 1, "2" 2, "3" 3, "4" 4)
plot $line0 with lines linewidth 1 linecolor rgb '#0072b2' title "", $line1 with lines linewidth 1 linecolor rgb '#e69f00' title ""
reset
set lmargin at screen 0.125000
set rmargin at screen 0.955357
set tmargin at screen 0.676582
set bmargin at screen 0.581646
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "block.read: bytes per second" at screen 0.125000, screen 0.688766 left front
set xrange [0:10.500000001]
set xtics ("" 0, "" 2, "" 4, "" 6, "" 8, "" 10)
$line0 << EOD
0 28672
2 28672
2 28672
4 28672
4 28672
6 28672
6 28672
8 28672
8 28672
10 28672
10 0
10.000000001 0
EOD
$line1 << EOD
0 28672
2 28672
2 28672
4 28672
4 28672
6 28672
6 28672
8 28672
8 28672
10 28672
10 0
10.500000001 0
EOD
set yrange [0:30000]
set ytics ("0" 0, "10 kB/s" 10000, "20 kB/s" 20000, "30 kB/s" 30000)
plot $line0 with lines linewidth 1 linecolor rgb '#0072b2' title "", $line1 with lines linewidth 1 linecolor rgb '#e69f00' title ""
reset
set lmargin at screen 0.125000
set rmargin at screen 0.955357
set tmargin at screen 0.543671
set bmargin at screen 0.448734
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "block.read: operations per second" at screen 0.125000, screen 0.555854 left front
set xrange [0:10.500000001]
set xtics ("" 0, "" 2, "" 4, "" 6, "" 8, "" 10)
$line0 << EOD
0 3
2 3
2 3
4 3
4 3
6 3
6 3
8 3
8 3
10 3
10 0
10.000000001 0
EOD
$line1 << EOD
0 3
2 3
2 3
4 3
4 3
6 3
6 3
8 3
8 3
10 3
10 0
10.500000001 0
EOD
set yrange [0:3]
set ytics ("0" 0, "1" 1, "2" 2, "3" 3)
plot $line0 with lines linewidth 1 linecolor rgb '#0072b2' title "", $line1 with lines linewidth 1 linecolor rgb '#e69f00' title ""
reset
set lmargin at screen 0.125000
set rmargin at screen 0.955357
set tmargin at screen 0.410759
set bmargin at screen 0.315823
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "block.write: bytes per second" at screen 0.125000, screen 0.422943 left front
set xrange [0:10.500000001]
set xtics ("" 0, "" 2, "" 4, "" 6, "" 8, "" 10)
$line0 << EOD
0 6144
2 6144
2 10240
4 10240
4 12288
6 12288
6 6144
8 6144
8 10240
10 10240
10 0
10.000000001 0
EOD
$line1 << EOD
0 6144
2 6144
2 10240
4 10240
4 12288
6 12288
6 6144
8 6144
8 10240
10 10240
10 0
10.500000001 0
EOD
set yrange [0:15000]
set ytics ("0" 0, "5 kB/s" 5000, "10 kB/s" 10000, "15 kB/s" 15000)
plot $line0 with lines linewidth 1 linecolor rgb '#0072b2' title "", $line1 with lines linewidth 1 linecolor rgb '#e69f00' title ""
reset
set lmargin at screen 0.125000
set rmargin at screen 0.955357
set tmargin at screen 0.277848
set bmargin at screen 0.182911
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "block.write: operations per second" at screen 0.125000, screen 0.290032 left front
set xrange [0:10.500000001]
set xtics ("" 0, "" 2, "" 4, "" 6, "" 8, "" 10)
$line0 << EOD
0 1
2 1
2 1
4 1
4 1
6 1
6 1
8 1
8 1
10 1
10 0
10.000000001 0
EOD
$line1 << EOD
0 1
2 1
2 1
4 1
4 1
6 1
6 1
8 1
8 1
10 1
10 0
10.500000001 0
EOD
set yrange [0:1]
set ytics ("0" 0, "0.5" 0.5, "1" 1)
plot $line0 with lines linewidth 1 linecolor rgb '#0072b2' title "", $line1 with lines linewidth 1 linecolor rgb '#e69f00' title ""
reset
set lmargin at screen 0.125000
set rmargin at screen 0.955357
set tmargin at screen 0.144937
set bmargin at screen 0.113291
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "Phases of run.db" at screen 0.125000, screen 0.157120 left front
set xrange [0:10.500000001]
set xtics ("" 0, "" 2, "" 4, "" 6, "" 8, "" 10)
set label "INIT" at screen 0.164541, screen 0.129114 center front
set label "TRAINING" at screen 0.480867, screen 0.129114 center front
set label "EVAL" at screen 0.797194, screen 0.129114 center front
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
reset
set lmargin at screen 0.125000
set rmargin at screen 0.955357
set tmargin at screen 0.075316
set bmargin at screen 0.043671
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "Phases of slow.db" at screen 0.125000, screen 0.087500 left front
set xrange [0:10.500000001]
set xtics ("0 s" 0, "2 s" 2, "4 s" 4, "6 s" 6, "8 s" 8, "10 s" 10)
set label "INIT" at screen 0.164541, screen 0.059494 center front
set label "TRAINING" at screen 0.480867, screen 0.059494 center front
set label "EVAL" at screen 0.797194, screen 0.059494 center front
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
