set terminal svg size 672,137 dynamic font 'sans-serif,10' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.095238
set rmargin at screen 0.970238
set tmargin at screen 0.883212
set bmargin at screen 0.518248
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "1 parent" at screen 0.095238, screen 0.939416 left front
set xrange [0:1.25]
set xtics ("" 0, "" 0.5, "" 1)
set yrange [0:2]
set ytics ('BIO' 0.5, 'VFS' 1.5) scale 0
set grid noytics
$kind0level1 << EOD
0 0.06
0 0.48
0.002125851 0.48
0.002125851 0.06

0.99914997 0.06
0.99914997 0.48
1.001275821 0.48
1.001275821 0.06

EOD
$kind0level2 << EOD
0 0
EOD
$kind1level1 << EOD
0.250850418 0.52
0.252976269 0.94

0.499574985 0.94
0.501700836 0.52
0.750425403 0.52
0.752551254 0.94

# 15 rows; sums 55.1254423 65.7 0 0 0 0
EOD
$kind1level2 << EOD
0 0
EOD
$kind2level1 << EOD
0 0
EOD
$kind3level1 << EOD
0 1.52
0.002125851 1.52
0.248724567 1.94

0.501700836 1.94
0.748299552 1.52
0.750425403 1.52
0.99914997 1.94

# 25 rows; sums 175.031942 432.5 0 0 0 0
EOD
$kind3level2 << EOD
0 0
EOD
plot $kind0level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#ba8ca3' notitle, $kind1level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#8c8cd4' notitle, $kind3level1 with filledcurves closed fillstyle solid noborder fillcolor rgb '#9acdff' notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#1e90ff' title 'READ', NaN with boxes fillstyle solid noborder linecolor rgb '#ff0000' title 'WRITE', NaN with boxes fillstyle solid noborder linecolor rgb '#0000a0' title 'BIOR', NaN with boxes fillstyle solid noborder linecolor rgb '#660033' title 'BIOW', 1 with lines linewidth 0.5 linecolor rgb '#888888' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.970238
set tmargin at screen 0.343066
set bmargin at screen 0.197080
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "Phases" at screen 0.095238, screen 0.399270 left front
set xrange [0:1.25]
set xtics ("0 s" 0, "0.5 s" 0.5, "1 s" 1)
set label "INIT" at screen 0.445238, screen 0.270073 center front
set label "TRAINING" at screen 0.882738, screen 0.270073 center front
set yrange [0:1]
unset ytics
set border 1
$phases << EOD
0 1 0x7373ff
1 1.25 0xffe973
EOD
plot $phases using 1:(0.5):1:2:(0):(1):3 with boxxyerror fillstyle solid noborder linecolor rgb variable notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#7373ff' title "INIT", NaN with boxes fillstyle solid noborder linecolor rgb '#ffe973' title "TRAINING", $phases using 1:(0):(0):(1) with vectors nohead linewidth 0.7 linecolor rgb 'black' notitle
unset multiplot
