set terminal svg size 672,306 dynamic font 'sans-serif,10' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.080357
set rmargin at screen 0.319940
set tmargin at screen 0.858170
set bmargin at screen 0.171895
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "whole step" at screen 0.200149, screen 0.890196 center front
$g0 << EOD
1 0.13525 0.137 0.138
2 0.2366875 0.23975 0.2415
EOD
$g1 << EOD
1 0.15215625 0.154125 0.15525
8 0.879125 0.8905 0.897
EOD
set xrange [0.58:8.42]
set xtics rotate by -50 ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.200149, screen 0.030065 center front
set yrange [0:1]
set ytics ("0" 0, "200 ms" 0.2, "400 ms" 0.4, "600 ms" 0.6, "800 ms" 0.8, "1 s" 1)
set key at screen 0.986607, screen 0.993464 right top horizontal Left reverse samplen 1
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1 pointtype 7 pointsize 0.45 title "1 GPU", $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1 pointtype 7 pointsize 0.45 title "2 GPUs"
reset
set lmargin at screen 0.413690
set rmargin at screen 0.653274
set tmargin at screen 0.858170
set bmargin at screen 0.171895
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "loading (waiting)" at screen 0.533482, screen 0.890196 center front
$g0 << EOD
1 0.021 0.022 0.02375
2 0.03675 0.0385 0.0415625
EOD
$g1 << EOD
1 0.023625 0.02475 0.02671875
8 0.1365 0.143 0.154375
EOD
set xrange [0.58:8.42]
set xtics rotate by -50 ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.533482, screen 0.030065 center front
set yrange [0:0.2]
set ytics ("0" 0, "50 ms" 0.05, "100 ms" 0.1, "150 ms" 0.15, "200 ms" 0.2)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1 pointtype 7 pointsize 0.45 notitle
reset
set lmargin at screen 0.747024
set rmargin at screen 0.986607
set tmargin at screen 0.858170
set bmargin at screen 0.171895
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "computing" at screen 0.866815, screen 0.890196 center front
$g0 << EOD
1 0.11025 0.112 0.113
2 0.1929375 0.196 0.19775
EOD
$g1 << EOD
1 0.12403125 0.126 0.127125
8 0.716625 0.728 0.7345
EOD
set xrange [0.58:8.42]
set xtics rotate by -50 ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.866815, screen 0.030065 center front
set yrange [0:0.8]
set ytics ("0" 0, "200 ms" 0.2, "400 ms" 0.4, "600 ms" 0.6, "800 ms" 0.8)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1 pointtype 7 pointsize 0.45 notitle
unset multiplot
