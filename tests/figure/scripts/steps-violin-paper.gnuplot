set terminal svg size 672,203 dynamic font 'sans-serif,10' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.080357
set rmargin at screen 0.986607
set tmargin at screen 0.786207
set bmargin at screen 0.195074
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "storage" at screen 0.533482, screen 0.834483 center front
$shapes << EOD
0 NaN
0.41877 0.0096383
-0.41729 0.0095532

1.4197 0.017016
0.58449 0.016569

3.12 0.011035
2.2864 0.010556
3.9908 0.0455
4.1193 0.064309
3.2881 0.060436
# 404 rows; sums 204445.82 2512.35066 0 0 0 0
EOD
$marks << EOD
0 0.008 0.009 0.01
1 0.014 0.01575 0.0175
2.7 0.009 0.010125 0.01125
3.7 0.052 0.0585 0.065
EOD
set xrange [-0.65:4.35]
set xtics scale 0 ('1' 0, '2' 1, '1' 2.7, '8' 3.7)
set grid noxtics
set label '1 GPU' at first 0.5, graph -0.221667 center front
set label '2 GPUs' at first 3.2, graph -0.221667 center front
set yrange [0:0.08]
set ytics ("0" 0, "20 ms" 0.02, "40 ms" 0.04, "60 ms" 0.06, "80 ms" 0.08)
set key at screen 0.986607, screen 0.990148 right top horizontal Left reverse samplen 1
plot $shapes using 1:2 with filledcurves closed fillcolor rgb '#7fb8d8' fillstyle solid 1 border linecolor rgb '#0072b2' linewidth 0.7 title 'p1 to p99', $marks using 1:2:(0):($4-$2) with vectors nohead linecolor rgb '#222222' linewidth 3 title 'q1 to q3', $marks using 1:3 with points pointtype 7 pointsize 0.5 linecolor rgb '#ffffff' notitle, $marks using 1:3 with points pointtype 6 pointsize 0.5 linecolor rgb '#222222' title 'median'
unset multiplot
