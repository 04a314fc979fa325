set terminal svg size 1000,764 dynamic font 'sans-serif,13' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.067500
set rmargin at screen 0.282083
set tmargin at screen 0.926963
set bmargin at screen 0.730628
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "UNET3D, 4 files (MLLOG)" at screen 0.067500, screen 0.976440 left front
set label "whole step" at screen 0.174792, screen 0.943455 center front
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
set label "batch" at screen 0.174792, screen 0.657592 center front
set yrange [0:1]
set ytics ("0" 0, "200 ms" 0.2, "400 ms" 0.4, "600 ms" 0.6, "800 ms" 0.8, "1 s" 1)
set key at screen 0.888000, screen 0.926963 left top Left reverse samplen 1
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 title "1 GPU", $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 title "2 GPUs"
reset
set lmargin at screen 0.360833
set rmargin at screen 0.575417
set tmargin at screen 0.926963
set bmargin at screen 0.730628
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "loading (waiting)" at screen 0.468125, screen 0.943455 center front
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
set label "batch" at screen 0.468125, screen 0.657592 center front
set yrange [0:0.2]
set ytics ("0" 0, "50 ms" 0.05, "100 ms" 0.1, "150 ms" 0.15, "200 ms" 0.2)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
reset
set lmargin at screen 0.654167
set rmargin at screen 0.868750
set tmargin at screen 0.926963
set bmargin at screen 0.730628
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "computing" at screen 0.761458, screen 0.943455 center front
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
set label "batch" at screen 0.761458, screen 0.657592 center front
set yrange [0:0.8]
set ytics ("0" 0, "200 ms" 0.2, "400 ms" 0.4, "600 ms" 0.6, "800 ms" 0.8)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
reset
set lmargin at screen 0.067500
set rmargin at screen 0.282083
set tmargin at screen 0.605759
set bmargin at screen 0.409424
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "copy to the GPU" at screen 0.174792, screen 0.622251 center front
$g0 << EOD
1 0.004 0.005 0.00675
2 0.007 0.00875 0.0118125
EOD
$g1 << EOD
1 0.0045 0.005625 0.00759375
8 0.026 0.0325 0.043875
EOD
set xrange [0.58:8.42]
set xtics rotate by -50 ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.174792, screen 0.336387 center front
set yrange [0:0.05]
set ytics ("0" 0, "10 ms" 0.01, "20 ms" 0.02, "30 ms" 0.03, "40 ms" 0.04, "50 ms" 0.05)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
reset
set lmargin at screen 0.360833
set rmargin at screen 0.575417
set tmargin at screen 0.605759
set bmargin at screen 0.409424
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "forward" at screen 0.468125, screen 0.622251 center front
$g0 << EOD
1 0.03025 0.032 0.033
2 0.0529375 0.056 0.05775
EOD
$g1 << EOD
1 0.03403125 0.036 0.037125
8 0.196625 0.208 0.2145
EOD
set xrange [0.58:8.42]
set xtics rotate by -50 ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.468125, screen 0.336387 center front
set yrange [0:0.25]
set ytics ("0" 0, "50 ms" 0.05, "100 ms" 0.1, "150 ms" 0.15, "200 ms" 0.2, "250 ms" 0.25)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
reset
set lmargin at screen 0.654167
set rmargin at screen 0.868750
set tmargin at screen 0.605759
set bmargin at screen 0.409424
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "loss" at screen 0.761458, screen 0.622251 center front
$g0 << EOD
1 0.005 0.006 0.007
2 0.00875 0.0105 0.01225
EOD
$g1 << EOD
1 0.005625 0.00675 0.007875
8 0.0325 0.039 0.0455
EOD
set xrange [0.58:8.42]
set xtics rotate by -50 ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.761458, screen 0.336387 center front
set yrange [0:0.05]
set ytics ("0" 0, "10 ms" 0.01, "20 ms" 0.02, "30 ms" 0.03, "40 ms" 0.04, "50 ms" 0.05)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
reset
set lmargin at screen 0.067500
set rmargin at screen 0.282083
set tmargin at screen 0.284555
set bmargin at screen 0.088220
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "backward" at screen 0.174792, screen 0.301047 center front
$g0 << EOD
1 0.061 0.062 0.06375
2 0.10675 0.1085 0.1115625
EOD
$g1 << EOD
1 0.068625 0.06975 0.07171875
8 0.3965 0.403 0.414375
EOD
set xrange [0.58:8.42]
set xtics rotate by -50 ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.174792, screen 0.015183 center front
set yrange [0:0.5]
set ytics ("0" 0, "100 ms" 0.1, "200 ms" 0.2, "300 ms" 0.3, "400 ms" 0.4, "500 ms" 0.5)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
reset
set lmargin at screen 0.360833
set rmargin at screen 0.575417
set tmargin at screen 0.284555
set bmargin at screen 0.088220
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "optimizer" at screen 0.468125, screen 0.301047 center front
$g0 << EOD
1 0.00625 0.008 0.009
2 0.0109375 0.014 0.01575
EOD
$g1 << EOD
1 0.00703125 0.009 0.010125
8 0.040625 0.052 0.0585
EOD
set xrange [0.58:8.42]
set xtics rotate by -50 ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.468125, screen 0.015183 center front
set yrange [0:0.06]
set ytics ("0" 0, "20 ms" 0.02, "40 ms" 0.04, "60 ms" 0.06)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
reset
set lmargin at screen 0.654167
set rmargin at screen 0.868750
set tmargin at screen 0.284555
set bmargin at screen 0.088220
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "barrier" at screen 0.761458, screen 0.301047 center front
$g0 << EOD
1 0.006 0.007 0.00875
2 0.0105 0.01225 0.0153125
EOD
$g1 << EOD
1 0.00675 0.007875 0.00984375
8 0.039 0.0455 0.056875
EOD
set xrange [0.58:8.42]
set xtics rotate by -50 ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.761458, screen 0.015183 center front
set yrange [0:0.06]
set ytics ("0" 0, "20 ms" 0.02, "40 ms" 0.04, "60 ms" 0.06)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
unset multiplot
