set terminal svg size 1000,625 dynamic font 'sans-serif,13' background 'white' noenhanced
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
set label "run.db" at screen 0.064000, screen 0.976960 left front
plot NaN
reset
set lmargin at screen 0.064000
set rmargin at screen 0.954000
set tmargin at screen 0.925120
set bmargin at screen 0.790720
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "CPU, %" at screen 0.064000, screen 0.940960 left front
set xrange [7.5:9.5]
set xtics ("" 7.6, "" 7.8, "" 8, "" 8.2, "" 8.4, "" 8.6, "" 8.8, "" 9, "" 9.2, "" 9.4)
set key at screen 0.954000, screen 0.953920 right top horizontal Left reverse samplen 1
set yrange [0:100]
set ytics 50
$curve0 << EOD
7 45
8 50
9 55
10 60
EOD
$curve1 << EOD
7 14
8 16
9 18
10 20
EOD
$curve2 << EOD
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
set tmargin at screen 0.745920
set bmargin at screen 0.611520
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "GPU, %" at screen 0.064000, screen 0.761760 left front
set xrange [7.5:9.5]
set xtics ("" 7.6, "" 7.8, "" 8, "" 8.2, "" 8.4, "" 8.6, "" 8.8, "" 9, "" 9.2, "" 9.4)
set key at screen 0.954000, screen 0.774720 right top horizontal Left reverse samplen 1
set yrange [0:100]
set ytics 50
$curve0 << EOD
7 57.5
8 27.5
9 57.5
10 27.5
EOD
$curve1 << EOD
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
set tmargin at screen 0.566720
set bmargin at screen 0.432320
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "Disks, MiB/s" at screen 0.064000, screen 0.582560 left front
set xrange [7.5:9.5]
set xtics ("" 7.6, "" 7.8, "" 8, "" 8.2, "" 8.4, "" 8.6, "" 8.8, "" 9, "" 9.2, "" 9.4)
set key at screen 0.954000, screen 0.595520 right top horizontal Left reverse samplen 1
set yrange [0:1000]
set ytics ("0" 0, "500" 500, "1000" 1000)
$curve0 << EOD
7 700
8 800
9 900
10 1000
EOD
$curve1 << EOD
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
set tmargin at screen 0.387520
set bmargin at screen 0.285120
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "1 parent (darker: busier)" at screen 0.064000, screen 0.403360 left front
set xrange [7.5:9.5]
set xtics ("" 7.6, "" 7.8, "" 8, "" 8.2, "" 8.4, "" 8.6, "" 8.8, "" 9, "" 9.2, "" 9.4)
set key at screen 0.954000, screen 0.416320 right top horizontal Left reverse samplen 1
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
8.998877064 1.06
8.998877064 1.48
9.5 1.48
9.5 1.06

EOD
$kind2level2 << EOD
8.998877064 1.06
8.998877064 1.48
9.5 1.48
9.5 1.06

EOD
$kind2level3 << EOD
8.998877064 1.06
8.998877064 1.48
9.5 1.48
9.5 1.06

EOD
$kind2level4 << EOD
9.001124256 1.06
9.001124256 1.48
9.5 1.48
9.5 1.06

EOD
$kind2level5 << EOD
9.001124256 1.06
9.001124256 1.48
9.5 1.48
9.5 1.06

EOD
$kind3level1 << EOD
0 0
EOD
plot $kind2level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff8c8c' notitle, $kind2level2 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff6969' notitle, $kind2level3 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff4646' notitle, $kind2level4 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff2323' notitle, $kind2level5 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff0000' notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#1e90ff' title 'READ', NaN with boxes fillstyle solid noborder linecolor rgb '#ff0000' title 'WRITE', NaN with boxes fillstyle solid noborder linecolor rgb '#0000a0' title 'BIOR', NaN with boxes fillstyle solid noborder linecolor rgb '#660033' title 'BIOW', 1 with lines linewidth 0.5 linecolor rgb '#888888' notitle
reset
set lmargin at screen 0.064000
set rmargin at screen 0.954000
set tmargin at screen 0.240320
set bmargin at screen 0.137920
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "2 loaders" at screen 0.064000, screen 0.256160 left front
set xrange [7.5:9.5]
set xtics ("" 7.6, "" 7.8, "" 8, "" 8.2, "" 8.4, "" 8.6, "" 8.8, "" 9, "" 9.2, "" 9.4)
set key at screen 0.954000, screen 0.269120 right top horizontal Left reverse samplen 1
set yrange [0:2]
set ytics ('BIO' 0.5, 'VFS' 1.5) scale 0
set grid noytics
$kind0level1 << EOD
7.998876624 0.06
7.998876624 0.48
8.003371008 0.48
8.003371008 0.06

8.998877064 0.06
8.998877064 0.48
9.003371448 0.48
9.003371448 0.06

EOD
$kind0level2 << EOD
0 0
EOD
$kind1level1 << EOD
7.5 0.52
7.502247192 0.52
7.749438312 0.94

8.25280932 0.94
8.50000044 0.52
8.502247632 0.52
8.749438752 0.94

9.25280976 0.94
# 30 rows; sums 3120.45412 262.8 0 0 0 0
EOD
$kind1level2 << EOD
8.250562128 0.52
8.25280932 0.94

8.50000044 0.94
8.502247632 0.52
8.749438752 0.52
8.751685944 0.94

9.250562568 0.94
9.25280976 0.52
# 20 rows; sums 1422.7147 116.8 0 0 0 0
EOD
$kind1level3 << EOD
0 0
EOD
$kind2level1 << EOD
0 0
EOD
$kind3level1 << EOD
7.5 1.52

7.751685504 1.52
8.001123816 1.94
8.248314936 1.94
8.497753248 1.52

8.751685944 1.52
9.003371448 1.94
9.248315376 1.94
# 40 rows; sums 5570.41382 1107.2 0 0 0 0
EOD
$kind3level2 << EOD
7.5 1.52

7.751685504 1.52
8.001123816 1.94
8.248314936 1.94
8.50000044 1.52

8.751685944 1.52
9.001124256 1.94
9.248315376 1.94
# 40 rows; sums 5570.35989 1107.2 0 0 0 0
EOD
$kind3level3 << EOD
7.5 1.52
7.502247192 1.52
7.749438312 1.94

8.001123816 1.94
8.50000044 1.52
8.502247632 1.52
8.749438752 1.94

9.001124256 1.94
# 30 rows; sums 3080.18444 622.8 0 0 0 0
EOD
$kind3level4 << EOD
0 0
EOD
plot $kind0level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ba8ca3' notitle, $kind1level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#8c8cd4' notitle, $kind1level2 with filledcurves closed fillstyle solid noborder fillcolor rgb '#6969c7' notitle, $kind3level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#9acdff' notitle, $kind3level2 with filledcurves closed fillstyle solid noborder fillcolor rgb '#7bbeff' notitle, $kind3level3 with filledcurves closed fillstyle solid noborder fillcolor rgb '#5cafff' notitle, 1 with lines linewidth 0.5 linecolor rgb '#888888' notitle
reset
set lmargin at screen 0.064000
set rmargin at screen 0.954000
set tmargin at screen 0.093120
set bmargin at screen 0.051520
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "Phases" at screen 0.064000, screen 0.108960 left front
set xrange [7.5:9.5]
set xtics ("7.6 s" 7.6, "7.8 s" 7.8, "8 s" 8, "8.2 s" 8.2, "8.4 s" 8.4, "8.6 s" 8.6, "8.8 s" 8.8, "9 s" 9, "9.2 s" 9.2, "9.4 s" 9.4)
set key at screen 0.954000, screen 0.121920 right top horizontal Left reverse samplen 1
set label "TRAINING" at screen 0.175250, screen 0.072320 center front
set label "EVAL" at screen 0.509000, screen 0.072320 center front
set label "CHECKPOINT" at screen 0.842750, screen 0.072320 center front
set yrange [0:1]
unset ytics
set border 1
$phases << EOD
7.5 8 0xffe973
8 9 0xc78ee3
9 9.5 0xe07ebc
EOD
plot $phases using 1:(0.5):1:2:(0):(1):3 with boxxyerror fillstyle solid noborder linecolor rgb variable notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#ffe973' title "TRAINING", NaN with boxes fillstyle solid noborder linecolor rgb '#c78ee3' title "EVAL", NaN with boxes fillstyle solid noborder linecolor rgb '#e07ebc' title "CHECKPOINT", $phases using 1:(0):(0):(1) with vectors nohead linewidth 0.7 linecolor rgb 'black' notitle
unset multiplot
