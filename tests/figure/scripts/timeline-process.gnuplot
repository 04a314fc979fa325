set terminal svg size 672,537 dynamic font 'sans-serif,10' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.095238
set rmargin at screen 0.931548
set tmargin at screen 0.970205
set bmargin at screen 0.858473
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "CPU, %" at screen 0.095238, screen 0.984544 left front
set xrange [0:10.000000001]
set xtics ("" 0, "" 2, "" 4, "" 6, "" 8, "" 10)
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
plot $curve0 with lines axes x1y1 linewidth 1 linecolor rgb '#0072b2' title "usr", $curve1 with lines axes x1y1 linewidth 1 linecolor rgb '#e69f00' title "sys", $curve2 with lines axes x1y1 linewidth 1 linecolor rgb '#d55e00' title "iowait"
reset
set lmargin at screen 0.095238
set rmargin at screen 0.931548
set tmargin at screen 0.813780
set bmargin at screen 0.702048
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "GPU, %" at screen 0.095238, screen 0.828119 left front
set xrange [0:10.000000001]
set xtics ("" 0, "" 2, "" 4, "" 6, "" 8, "" 10)
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
plot $curve0 with lines axes x1y1 linewidth 1 linecolor rgb '#d62728' title "multiprocessors", $curve1 with lines axes x1y1 linewidth 1 linecolor rgb '#e69f00' title "memory"
reset
set lmargin at screen 0.095238
set rmargin at screen 0.931548
set tmargin at screen 0.657356
set bmargin at screen 0.545624
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "Disks, MiB/s" at screen 0.095238, screen 0.671695 left front
set xrange [0:10.000000001]
set xtics ("" 0, "" 2, "" 4, "" 6, "" 8, "" 10)
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
plot $curve0 with lines axes x1y1 linewidth 1 linecolor rgb '#0000ff' title "read", $curve1 with lines axes x1y1 linewidth 1 linecolor rgb '#ff0000' title "written"
reset
set lmargin at screen 0.095238
set rmargin at screen 0.931548
set tmargin at screen 0.500931
set bmargin at screen 0.407821
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "100 python" at screen 0.095238, screen 0.515270 left front
set xrange [0:10.000000001]
set xtics ("" 0, "" 2, "" 4, "" 6, "" 8, "" 10)
set yrange [0:2]
set ytics ('BIO' 0.5, 'VFS' 1.5) scale 0
set grid noytics
$kind0level1 << EOD
0 0
EOD
$kind1level1 << EOD
0 0
EOD
$kind2level1 << EOD
8.985765475 1.06
8.985765475 1.48
9.50177973 1.48
9.50177973 1.06

EOD
$kind2level2 << EOD
8.985765475 1.06
8.985765475 1.48
9.50177973 1.48
9.50177973 1.06

EOD
$kind2level3 << EOD
9.00355907 1.06
9.00355907 1.48
9.50177973 1.48
9.50177973 1.06

EOD
$kind2level4 << EOD
9.00355907 1.06
9.00355907 1.48
9.50177973 1.48
9.50177973 1.06

EOD
$kind2level5 << EOD
9.00355907 1.06
9.00355907 1.48
9.50177973 1.48
9.50177973 1.06

EOD
$kind3level1 << EOD
0 0
EOD
plot $kind2level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff8c8c' notitle, $kind2level2 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff6969' notitle, $kind2level3 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff4646' notitle, $kind2level4 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff2323' notitle, $kind2level5 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff0000' notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#1e90ff' title 'READ', NaN with boxes fillstyle solid noborder linecolor rgb '#ff0000' title 'WRITE', NaN with boxes fillstyle solid noborder linecolor rgb '#0000a0' title 'BIOR', NaN with boxes fillstyle solid noborder linecolor rgb '#660033' title 'BIOW', 1 with lines linewidth 0.5 linecolor rgb '#888888' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.931548
set tmargin at screen 0.363128
set bmargin at screen 0.270019
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "101 loader" at screen 0.095238, screen 0.377467 left front
set xrange [0:10.000000001]
set xtics ("" 0, "" 2, "" 4, "" 6, "" 8, "" 10)
set yrange [0:2]
set ytics ('BIO' 0.5, 'VFS' 1.5) scale 0
set grid noytics
$kind0level1 << EOD
0 0.06
0.99644132 0.06
1.99288264 0.06
2.98932396 0.06
3.98576528 0.06
5.000000195 0.06
5.996441515 0.06
6.992882835 0.06
7.989324155 0.06
8.985765475 0.06
# 50 rows; sums 6150.71198 270 0 0 0 0
EOD
$kind0level2 << EOD
0 0
EOD
$kind1level1 << EOD
0.49822066 0.52
1.49466198 0.52
2.4911033 0.52
3.48754462 0.52
4.48398594 0.52
5.498220855 0.52
6.494662175 0.52
7.491103495 0.52
8.487544815 0.52
9.483986135 0.52
# 50 rows; sums 6648.93264 730 0 0 0 0
EOD
$kind1level2 << EOD
0 0
EOD
$kind2level1 << EOD
0 0
EOD
$kind3level1 << EOD
0 1.52

1.512455575 1.52
2.508896895 1.94
3.48754462 1.94
4.48398594 1.52

6.01423511 1.52
7.01067643 1.94
7.989324155 1.94
8.985765475 1.52

# 100 rows; sums 25646.5668 6920 0 0 0 0
EOD
$kind3level2 << EOD
0 0
EOD
plot $kind0level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ba8ca3' notitle, $kind1level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#8c8cd4' notitle, $kind3level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#9acdff' notitle, 1 with lines linewidth 0.5 linecolor rgb '#888888' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.931548
set tmargin at screen 0.225326
set bmargin at screen 0.132216
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "102 loader" at screen 0.095238, screen 0.239665 left front
set xrange [0:10.000000001]
set xtics ("" 0, "" 2, "" 4, "" 6, "" 8, "" 10)
set yrange [0:2]
set ytics ('BIO' 0.5, 'VFS' 1.5) scale 0
set grid noytics
$kind0level1 << EOD
0 0
EOD
$kind1level1 << EOD
0.24911033 0.52

1.761565905 0.52
2.758007225 0.94
3.73665495 0.94
4.750889865 0.52

6.26334544 0.52
7.25978676 0.94
8.238434485 0.94
9.234875805 0.52

# 100 rows; sums 26655.1612 2920 0 0 0 0
EOD
$kind1level2 << EOD
0 0
EOD
$kind2level1 << EOD
0 0
EOD
$kind3level1 << EOD
0.24911033 1.52

1.761565905 1.52
2.758007225 1.94
3.73665495 1.94
4.73309627 1.52

6.26334544 1.52
7.25978676 1.94
8.238434485 1.94
9.234875805 1.52

# 100 rows; sums 26648.3462 6920 0 0 0 0
EOD
$kind3level2 << EOD
0 0
EOD
plot $kind1level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#8c8cd4' notitle, $kind3level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#9acdff' notitle, 1 with lines linewidth 0.5 linecolor rgb '#888888' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.931548
set tmargin at screen 0.087523
set bmargin at screen 0.050279
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "Phases" at screen 0.095238, screen 0.101862 left front
set xrange [0:10.000000001]
set xtics ("0 s" 0, "2 s" 2, "4 s" 4, "6 s" 6, "8 s" 8, "10 s" 10)
set label "INIT" at screen 0.137054, screen 0.068901 center front
set label "TRAINING" at screen 0.471577, screen 0.068901 center front
set label "EVAL" at screen 0.806101, screen 0.068901 center front
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
