set terminal svg size 672,463 dynamic font 'sans-serif,10' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.095238
set rmargin at screen 0.931548
set tmargin at screen 0.965443
set bmargin at screen 0.835853
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "CPU, %" at screen 0.095238, screen 0.982073 left front
set xrange [7.5:9.5]
set xtics ("" 7.5, "" 8, "" 8.5, "" 9, "" 9.5)
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
plot $curve0 with lines axes x1y1 linewidth 1 linecolor rgb '#0072b2' title "usr", $curve1 with lines axes x1y1 linewidth 1 linecolor rgb '#e69f00' title "sys", $curve2 with lines axes x1y1 linewidth 1 linecolor rgb '#d55e00' title "iowait"
reset
set lmargin at screen 0.095238
set rmargin at screen 0.931548
set tmargin at screen 0.784017
set bmargin at screen 0.654428
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "GPU, %" at screen 0.095238, screen 0.800648 left front
set xrange [7.5:9.5]
set xtics ("" 7.5, "" 8, "" 8.5, "" 9, "" 9.5)
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
plot $curve0 with lines axes x1y1 linewidth 1 linecolor rgb '#d62728' title "multiprocessors", $curve1 with lines axes x1y1 linewidth 1 linecolor rgb '#e69f00' title "memory"
reset
set lmargin at screen 0.095238
set rmargin at screen 0.931548
set tmargin at screen 0.602592
set bmargin at screen 0.473002
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "Disks, MiB/s" at screen 0.095238, screen 0.619222 left front
set xrange [7.5:9.5]
set xtics ("" 7.5, "" 8, "" 8.5, "" 9, "" 9.5)
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
plot $curve0 with lines axes x1y1 linewidth 1 linecolor rgb '#0000ff' title "read", $curve1 with lines axes x1y1 linewidth 1 linecolor rgb '#ff0000' title "written"
reset
set lmargin at screen 0.095238
set rmargin at screen 0.931548
set tmargin at screen 0.421166
set bmargin at screen 0.313175
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "100 python" at screen 0.095238, screen 0.437797 left front
set xrange [7.5:9.5]
set xtics ("" 7.5, "" 8, "" 8.5, "" 9, "" 9.5)
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
8.998220699 1.06
8.998220699 1.48
9.5 1.48
9.5 1.06

EOD
$kind2level2 << EOD
8.998220699 1.06
8.998220699 1.48
9.5 1.48
9.5 1.06

EOD
$kind2level3 << EOD
8.998220699 1.06
8.998220699 1.48
9.5 1.48
9.5 1.06

EOD
$kind2level4 << EOD
9.001779418 1.06
9.001779418 1.48
9.5 1.48
9.5 1.06

EOD
$kind2level5 << EOD
9.001779418 1.06
9.001779418 1.48
9.5 1.48
9.5 1.06

EOD
$kind3level1 << EOD
0 0
EOD
plot $kind2level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff8c8c' notitle, $kind2level2 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff6969' notitle, $kind2level3 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff4646' notitle, $kind2level4 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff2323' notitle, $kind2level5 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff0000' notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#1e90ff' title 'READ', NaN with boxes fillstyle solid noborder linecolor rgb '#ff0000' title 'WRITE', NaN with boxes fillstyle solid noborder linecolor rgb '#0000a0' title 'BIOR', NaN with boxes fillstyle solid noborder linecolor rgb '#660033' title 'BIOW', 1 with lines linewidth 0.5 linecolor rgb '#888888' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.931548
set tmargin at screen 0.261339
set bmargin at screen 0.153348
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "2 loaders of 100 python" at screen 0.095238, screen 0.277970 left front
set xrange [7.5:9.5]
set xtics ("" 7.5, "" 8, "" 8.5, "" 9, "" 9.5)
set yrange [0:2]
set ytics ('BIO' 0.5, 'VFS' 1.5) scale 0
set grid noytics
$kind0level1 << EOD
7.99822066 0.06
7.99822066 0.48
8.001779379 0.48
8.001779379 0.06

8.998220699 0.06
8.998220699 0.48
9.001779418 0.48
9.001779418 0.06

EOD
$kind0level2 << EOD
0 0
EOD
$kind1level1 << EOD
7.5 0.52
7.503558719 0.52
7.74911033 0.94

8.254448428 0.94
8.500000039 0.52
8.503558758 0.52
8.749110369 0.94

9.254448467 0.94
# 30 rows; sums 3120.71888 262.8 0 0 0 0
EOD
$kind1level2 << EOD
0 0
EOD
$kind2level1 << EOD
0 0
EOD
$kind3level1 << EOD
7.5 1.52

7.752669049 1.52
8.001779379 1.94
8.24733099 1.94
8.49644132 1.52

8.752669088 1.52
9.001779418 1.94
9.247331029 1.94
# 40 rows; sums 5570.4164 1107.2 0 0 0 0
EOD
$kind3level2 << EOD
7.5 1.52

7.752669049 1.52
8.001779379 1.94
8.24733099 1.94
8.500000039 1.52

8.752669088 1.52
9.001779418 1.94
9.247331029 1.94
# 40 rows; sums 5570.16373 1107.2 0 0 0 0
EOD
$kind3level3 << EOD
0 0
EOD
plot $kind0level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ba8ca3' notitle, $kind1level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#8c8cd4' notitle, $kind3level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#9acdff' notitle, $kind3level2 with filledcurves closed fillstyle solid noborder fillcolor rgb '#7bbeff' notitle, 1 with lines linewidth 0.5 linecolor rgb '#888888' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.931548
set tmargin at screen 0.101512
set bmargin at screen 0.058315
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "Phases" at screen 0.095238, screen 0.118143 left front
set xrange [7.5:9.5]
set xtics ("7.5 s" 7.5, "8 s" 8, "8.5 s" 8.5, "9 s" 9, "9.5 s" 9.5)
set label "TRAINING" at screen 0.199777, screen 0.079914 center front
set label "EVAL" at screen 0.513393, screen 0.079914 center front
set label "CHECKPOINT" at screen 0.827009, screen 0.079914 center front
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
