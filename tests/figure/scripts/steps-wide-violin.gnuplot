set terminal svg size 1000,277 dynamic font 'sans-serif,13' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.067500
set rmargin at screen 0.868750
set tmargin at screen 0.798556
set bmargin at screen 0.184838
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "UNET3D, 4 files (MLLOG)" at screen 0.067500, screen 0.935018 left front
set label "whole step" at screen 0.468125, screen 0.844043 center front
$shapes << EOD
0 NaN
0.41183 0.013763
-0.41601 0.013754

1.4186 0.68855
0.59032 0.68727

2.4199 5.5119
1.5945 5.4948
4.0356 121.5
4.12 124.09
3.2989 123.56
# 404 rows; sums 187326.946 4339316.47 0 0 0 0
EOD
$marks << EOD
0 0.013525 0.0137 0.0138
1 0.67625 0.685 0.69
2 5.41 5.48 5.52
3.7 121.725 123.3 124.2
EOD
set xrange [-0.65:4.35]
set xtics scale 0 ('1' 0, '4' 1, '64' 2, '4k' 3.7)
set grid noxtics
set label '1 GPU' at first 1, graph -0.201176 center front
set label '16 GPUs' at first 3.7, graph -0.201176 center front
set logscale y 10
set yrange [0.01:1000]
set ytics ("10 ms" 0.01, "100 ms" 0.1, "1 s" 1, "10 s" 10, "100 s" 100, "1000 s" 1000)
set key at screen 0.888000, screen 0.798556 left top Left reverse samplen 1
plot $shapes using 1:2 with filledcurves closed fillcolor rgb '#7fb8d8' fillstyle solid 1 border linecolor rgb '#0072b2' linewidth 0.7 title 'p1 to p99', $marks using 1:2:(0):($4-$2) with vectors nohead linecolor rgb '#222222' linewidth 4.2 title 'q1 to q3', $marks using 1:3 with points pointtype 7 pointsize 0.5 linecolor rgb '#ffffff' notitle, $marks using 1:3 with points pointtype 6 pointsize 0.5 linecolor rgb '#222222' title 'median'
unset multiplot
