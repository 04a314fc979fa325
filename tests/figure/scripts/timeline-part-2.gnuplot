set terminal svg size 672,211 dynamic font 'sans-serif,10' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.095238
set rmargin at screen 0.970238
set tmargin at screen 0.924171
set bmargin at screen 0.687204
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "100 python" at screen 0.095238, screen 0.960664 left front
set xrange [7.5:10.000000001]
set xtics ("" 7.5, "" 8, "" 8.5, "" 9, "" 9.5, "" 10)
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
8.996598752 1.06
8.996598752 1.48
9.000850453 1.48
9.000850453 1.06

EOD
$kind2level2 << EOD
0 0
EOD
$kind3level1 << EOD
0 0
EOD
plot $kind2level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ff8c8c' notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#1e90ff' title 'READ', NaN with boxes fillstyle solid noborder linecolor rgb '#ff0000' title 'WRITE', NaN with boxes fillstyle solid noborder linecolor rgb '#0000a0' title 'BIOR', NaN with boxes fillstyle solid noborder linecolor rgb '#660033' title 'BIOW', 1 with lines linewidth 0.5 linecolor rgb '#888888' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.970238
set tmargin at screen 0.573460
set bmargin at screen 0.336493
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "1 loader of 100 python" at screen 0.095238, screen 0.609953 left front
set xrange [7.5:10.000000001]
set xtics ("" 7.5, "" 8, "" 8.5, "" 9, "" 9.5, "" 10)
set yrange [0:2]
set ytics ('BIO' 0.5, 'VFS' 1.5) scale 0
set grid noytics
$kind0level1 << EOD
7.997449017 0.06
7.997449017 0.48
8.001700718 0.48
8.001700718 0.06

9.000850453 0.06
9.000850453 0.48
9.005102154 0.48
9.005102154 0.06

EOD
$kind0level2 << EOD
0 0
EOD
$kind1level1 << EOD
7.5 0.52

7.75510206 0.52
8.252551077 0.94
8.499149735 0.94
8.750000094 0.52

9.251700812 0.52
9.502551171 0.94
9.749149829 0.94
# 40 rows; sums 5818.18035 467.2 0 0 0 0
EOD
$kind1level2 << EOD
0 0
EOD
$kind2level1 << EOD
0 0
EOD
$kind3level1 << EOD
7.5 1.52
7.746598658 1.52
7.997449017 1.52
8.248299376 1.52
8.499149735 1.52
8.745748393 1.52
8.996598752 1.52
9.247449111 1.52
9.49829947 1.52
9.749149829 1.52
# 50 rows; sums 9037.54263 1730 0 0 0 0
EOD
$kind3level2 << EOD
0 0
EOD
plot $kind0level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ba8ca3' notitle, $kind1level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#8c8cd4' notitle, $kind3level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#9acdff' notitle, 1 with lines linewidth 0.5 linecolor rgb '#888888' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.970238
set tmargin at screen 0.222749
set bmargin at screen 0.127962
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "Phases" at screen 0.095238, screen 0.259242 left front
set xrange [7.5:10.000000001]
set xtics ("7.5 s" 7.5, "8 s" 8, "8.5 s" 8.5, "9 s" 9, "9.5 s" 9.5, "10 s" 10)
set label "TRAINING" at screen 0.182738, screen 0.175355 center front
set label "EVAL" at screen 0.445238, screen 0.175355 center front
set label "CHECKPOINT" at screen 0.795238, screen 0.175355 center front
set yrange [0:1]
unset ytics
set border 1
$phases << EOD
7.5 8 0xffe973
8 9 0xc78ee3
9 10 0xe07ebc
EOD
plot $phases using 1:(0.5):1:2:(0):(1):3 with boxxyerror fillstyle solid noborder linecolor rgb variable notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#ffe973' title "TRAINING", NaN with boxes fillstyle solid noborder linecolor rgb '#c78ee3' title "EVAL", NaN with boxes fillstyle solid noborder linecolor rgb '#e07ebc' title "CHECKPOINT", $phases using 1:(0):(0):(1) with vectors nohead linewidth 0.7 linecolor rgb 'black' notitle
unset multiplot
