set terminal svg size 1000,696 dynamic font 'sans-serif,13' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.067500
set rmargin at screen 0.868750
set tmargin at screen 0.919828
set bmargin at screen 0.675575
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "UNET3D, 4 files (MLLOG)" at screen 0.067500, screen 0.974138 left front
set label "whole step" at screen 0.468125, screen 0.937931 center front
$shapes << EOD
0 NaN
0.41697 0.13764
-0.41415 0.13755

1.419 0.24102
0.58932 0.24057

3.12 0.15503
2.2933 0.15456
4.0386 0.8775
4.1199 0.89631
3.2975 0.89244
# 404 rows; sums 204533.061 38243.55 0 0 0 0
EOD
$marks << EOD
0 0.13525 0.137 0.138
1 0.2366875 0.23975 0.2415
2.7 0.15215625 0.154125 0.15525
3.7 0.879125 0.8905 0.897
EOD
set xrange [-0.65:4.35]
set xtics scale 0 ('' 0, '' 1, '' 2.7, '' 3.7)
set grid noxtics
set yrange [0:1]
set ytics ("0" 0, "200 ms" 0.2, "400 ms" 0.4, "600 ms" 0.6, "800 ms" 0.8, "1 s" 1)
set key at screen 0.888000, screen 0.919828 left top Left reverse samplen 1
plot $shapes using 1:2 with filledcurves closed fillcolor rgb '#7fb8d8' fillstyle solid 1 border linecolor rgb '#0072b2' linewidth 0.7 title 'p1 to p99', $marks using 1:2:(0):($4-$2) with vectors nohead linecolor rgb '#222222' linewidth 4.2 title 'q1 to q3', $marks using 1:3 with points pointtype 7 pointsize 0.5 linecolor rgb '#ffffff' notitle, $marks using 1:3 with points pointtype 6 pointsize 0.5 linecolor rgb '#222222' title 'median'
reset
set lmargin at screen 0.067500
set rmargin at screen 0.868750
set tmargin at screen 0.618678
set bmargin at screen 0.374425
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "loading (waiting)" at screen 0.468125, screen 0.636782 center front
$shapes << EOD
0 NaN
0.41105 0.022638
-0.41324 0.022553

1.4088 0.039766
0.58469 0.039319

3.1066 0.02566
2.2829 0.025181
3.9533 0.13
4.1045 0.14881
3.2814 0.14494
# 404 rows; sums 204720.068 6141.3 0 0 0 0
EOD
$marks << EOD
0 0.021 0.022 0.02375
1 0.03675 0.0385 0.0415625
2.7 0.023625 0.02475 0.02671875
3.7 0.1365 0.143 0.154375
EOD
set xrange [-0.65:4.35]
set xtics scale 0 ('' 0, '' 1, '' 2.7, '' 3.7)
set grid noxtics
set yrange [0:0.2]
set ytics ("0" 0, "50 ms" 0.05, "100 ms" 0.1, "150 ms" 0.15, "200 ms" 0.2)
plot $shapes using 1:2 with filledcurves closed fillcolor rgb '#7fb8d8' fillstyle solid 1 border linecolor rgb '#0072b2' linewidth 0.7 notitle, $marks using 1:2:(0):($4-$2) with vectors nohead linecolor rgb '#222222' linewidth 4.2 notitle, $marks using 1:3 with points pointtype 7 pointsize 0.5 linecolor rgb '#ffffff' notitle, $marks using 1:3 with points pointtype 6 pointsize 0.5 linecolor rgb '#222222' notitle
reset
set lmargin at screen 0.067500
set rmargin at screen 0.868750
set tmargin at screen 0.317529
set bmargin at screen 0.073276
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "computing" at screen 0.468125, screen 0.335632 center front
$shapes << EOD
0 NaN
0.39176 0.11264
-0.39743 0.11255

1.3857 0.19727
0.59738 0.19682

3.0793 0.12691
2.2928 0.12643
4.0361 0.715
4.0726 0.73381
3.2888 0.72994
# 404 rows; sums 204454.16 31264.8 0 0 0 0
EOD
$marks << EOD
0 0.11025 0.112 0.113
1 0.1929375 0.196 0.19775
2.7 0.12403125 0.126 0.127125
3.7 0.716625 0.728 0.7345
EOD
set xrange [-0.65:4.35]
set xtics scale 0 ('1' 0, '2' 1, '1' 2.7, '8' 3.7)
set grid noxtics
set label '1 GPU' at first 0.5, graph -0.201176 center front
set label '2 GPUs' at first 3.2, graph -0.201176 center front
set yrange [0:0.8]
set ytics ("0" 0, "200 ms" 0.2, "400 ms" 0.4, "600 ms" 0.6, "800 ms" 0.8)
plot $shapes using 1:2 with filledcurves closed fillcolor rgb '#7fb8d8' fillstyle solid 1 border linecolor rgb '#0072b2' linewidth 0.7 notitle, $marks using 1:2:(0):($4-$2) with vectors nohead linecolor rgb '#222222' linewidth 4.2 notitle, $marks using 1:3 with points pointtype 7 pointsize 0.5 linecolor rgb '#ffffff' notitle, $marks using 1:3 with points pointtype 6 pointsize 0.5 linecolor rgb '#222222' notitle
unset multiplot
