set terminal svg size 1000,533 dynamic font 'sans-serif,13' background 'white' noenhanced
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
set label "a title" at screen 0.064000, screen 0.972983 left front
plot NaN
reset
set lmargin at screen 0.064000
set rmargin at screen 0.954000
set tmargin at screen 0.912195
set bmargin at screen 0.754597
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "CPU, %" at screen 0.064000, screen 0.930769 left front
set xrange [0:10.000000001]
set xtics ("" 0, "" 1, "" 2, "" 3, "" 4, "" 5, "" 6, "" 7, "" 8, "" 9, "" 10)
set key at screen 0.954000, screen 0.945966 right top horizontal Left reverse samplen 1
set yrange [0:100]
set ytics 50
$curve0 << EOD
0 10
1 15
2 20
3 25
4 30
5 35
6 40
7 45
8 50
9 55
10 60
EOD
$curve1 << EOD
0 0
1 2
2 4
3 6
4 8
5 10
6 12
7 14
8 16
9 18
10 20
EOD
$curve2 << EOD
0 0
1 1
2 2
3 0
4 1
5 2
6 0
7 1
8 2
9 0
10 1
EOD
$curve3 << EOD
# 0 rows; sums 0 0 0 0 0 0
EOD
set clip two
plot $curve0 with lines axes x1y1 linewidth 1.4 linecolor rgb '#0072b2' title "usr", $curve1 with lines axes x1y1 linewidth 1.4 linecolor rgb '#e69f00' title "sys", $curve2 with lines axes x1y1 linewidth 1.4 linecolor rgb '#d55e00' title "iowait"
reset
set lmargin at screen 0.064000
set rmargin at screen 0.954000
set tmargin at screen 0.702064
set bmargin at screen 0.544465
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "GPU, %" at screen 0.064000, screen 0.720638 left front
set xrange [0:10.000000001]
set xtics ("" 0, "" 1, "" 2, "" 3, "" 4, "" 5, "" 6, "" 7, "" 8, "" 9, "" 10)
set key at screen 0.954000, screen 0.735835 right top horizontal Left reverse samplen 1
set yrange [0:100]
set ytics 50
$curve0 << EOD
0 27.5
1 57.5
2 27.5
3 57.5
4 27.5
5 57.5
6 27.5
7 57.5
8 27.5
9 57.5
10 27.5
EOD
$curve1 << EOD
0 20
1 21
2 22
3 23
4 24
5 25
6 26
7 27
8 28
9 29
10 30
EOD
$curve2 << EOD
# 0 rows; sums 0 0 0 0 0 0
EOD
set clip two
plot $curve0 with lines axes x1y1 linewidth 1.4 linecolor rgb '#d62728' title "multiprocessors", $curve1 with lines axes x1y1 linewidth 1.4 linecolor rgb '#e69f00' title "memory"
reset
set lmargin at screen 0.064000
set rmargin at screen 0.954000
set tmargin at screen 0.491932
set bmargin at screen 0.334334
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "Disks, MiB/s" at screen 0.064000, screen 0.510507 left front
set xrange [0:10.000000001]
set xtics ("" 0, "" 1, "" 2, "" 3, "" 4, "" 5, "" 6, "" 7, "" 8, "" 9, "" 10)
set key at screen 0.954000, screen 0.525704 right top horizontal Left reverse samplen 1
set yrange [0:1000]
set ytics ("0" 0, "500" 500, "1000" 1000)
$curve0 << EOD
0 0
1 100
2 200
3 300
4 400
5 500
6 600
7 700
8 800
9 900
10 1000
EOD
$curve1 << EOD
0 0
1 1
2 2
3 3
4 4
5 5
6 6
7 7
8 8
9 9
10 10
EOD
set clip two
plot $curve0 with lines axes x1y1 linewidth 1.4 linecolor rgb '#0000ff' title "read", $curve1 with lines axes x1y1 linewidth 1.4 linecolor rgb '#ff0000' title "written"
reset
set lmargin at screen 0.064000
set rmargin at screen 0.954000
set tmargin at screen 0.281801
set bmargin at screen 0.161726
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "100 python and 2 loaders (darker: busier)" at screen 0.064000, screen 0.300375 left front
set xrange [0:10.000000001]
set xtics ("" 0, "" 1, "" 2, "" 3, "" 4, "" 5, "" 6, "" 7, "" 8, "" 9, "" 10)
set key at screen 0.954000, screen 0.315572 right top horizontal Left reverse samplen 1
set yrange [0:2]
set ytics ('BIO' 0.5, 'VFS' 1.5) scale 0
set grid noytics
$kind0level1 << EOD
0 0.06
1.000000084 0.06
2.000000168 0.06
3.000000252 0.06
4.000000336 0.06
5.00000042 0.06
6.000000504 0.06
7.000000588 0.06
8.000000672 0.06
9.000000756 0.06
# 50 rows; sums 6155.84321 270 0 0 0 0
EOD
$kind0level2 << EOD
0 0
EOD
$kind1level1 << EOD
0.247191032 0.52
0.752809052 0.52
1.74157318 0.94

3.505618272 0.94
4.4943824 0.52
5.258427408 0.52
6.247191536 0.94

7.75280964 0.94
8.741573768 0.52
9.505618776 0.52
# 150 rows; sums 59949.5556 6570 0 0 0 0
EOD
$kind1level2 << EOD
0 0
EOD
$kind2level1 << EOD
8.9887648 1.06
8.9887648 1.48
9.505618776 1.48
9.505618776 1.06

EOD
$kind2level2 << EOD
9.000000756 1.06
9.000000756 1.48
9.505618776 1.48
9.505618776 1.06

EOD
$kind2level3 << EOD
9.000000756 1.06
9.000000756 1.48
9.505618776 1.48
9.505618776 1.06

EOD
$kind2level4 << EOD
9.000000756 1.06
9.000000756 1.48
9.49438282 1.48
9.49438282 1.06

EOD
$kind2level5 << EOD
9.000000756 1.06
9.000000756 1.48
9.49438282 1.48
9.49438282 1.06

EOD
$kind3level1 << EOD
0 1.52
0.752809052 1.94

2.494382232 1.94
3.25842724 1.52
4.247191368 1.52
5.011236376 1.94

6.7415736 1.94
7.505618608 1.52
8.494382736 1.52
9.258427744 1.94
# 200 rows; sums 104650.042 27680 0 0 0 0
EOD
$kind3level2 << EOD
0 0
EOD
plot $kind0level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ba8ca3' notitle, $kind1level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#8c8cd4' notitle, $kind2level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff8c8c' notitle, $kind2level2 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff6969' notitle, $kind2level3 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff4646' notitle, $kind2level4 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff2323' notitle, $kind2level5 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff0000' notitle, $kind3level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#9acdff' notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#1e90ff' title 'READ', NaN with boxes fillstyle solid noborder linecolor rgb '#ff0000' title 'WRITE', NaN with boxes fillstyle solid noborder linecolor rgb '#0000a0' title 'BIOR', NaN with boxes fillstyle solid noborder linecolor rgb '#660033' title 'BIOW', 1 with lines linewidth 0.5 linecolor rgb '#888888' notitle
reset
set lmargin at screen 0.064000
set rmargin at screen 0.954000
set tmargin at screen 0.109193
set bmargin at screen 0.060413
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "Phases" at screen 0.064000, screen 0.127767 left front
set xrange [0:10.000000001]
set xtics ("0 s" 0, "1 s" 1, "2 s" 2, "3 s" 3, "4 s" 4, "5 s" 5, "6 s" 6, "7 s" 7, "8 s" 8, "9 s" 9, "10 s" 10)
set key at screen 0.954000, screen 0.142964 right top horizontal Left reverse samplen 1
set label "INIT" at screen 0.108500, screen 0.084803 center front
set label "TRAINING" at screen 0.464500, screen 0.084803 center front
set label "EVAL" at screen 0.820500, screen 0.084803 center front
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
