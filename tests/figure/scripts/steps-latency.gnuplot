set terminal svg size 1000,333 dynamic font 'sans-serif,13' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.067500
set rmargin at screen 0.282083
set tmargin at screen 0.832432
set bmargin at screen 0.201802
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "UNET3D, 4 files (MLLOG)" at screen 0.067500, screen 0.945946 left front
set label "loading" at screen 0.174792, screen 0.870270 center front
$g0 << EOD
1 0.01525 0.017 0.018
2 0.0266875 0.02975 0.0315
EOD
$g1 << EOD
1 0.01715625 0.019125 0.02025
8 0.099125 0.1105 0.117
EOD
set xrange [0.58:8.42]
set xtics rotate by -50 ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.174792, screen 0.034234 center front
set yrange [0:0.15]
set ytics ("0" 0, "50 ms" 0.05, "100 ms" 0.1, "150 ms" 0.15)
set key at screen 0.888000, screen 0.832432 left top Left reverse samplen 1
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 title "1 GPU", $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 title "2 GPUs"
reset
set lmargin at screen 0.360833
set rmargin at screen 0.575417
set tmargin at screen 0.832432
set bmargin at screen 0.201802
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "storage (VFS)" at screen 0.468125, screen 0.870270 center front
$g0 << EOD
1 0.008 0.009 0.01
2 0.014 0.01575 0.0175
EOD
$g1 << EOD
1 0.009 0.010125 0.01125
8 0.052 0.0585 0.065
EOD
set xrange [0.58:8.42]
set xtics rotate by -50 ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.468125, screen 0.034234 center front
set yrange [0:0.08]
set ytics ("0" 0, "20 ms" 0.02, "40 ms" 0.04, "60 ms" 0.06, "80 ms" 0.08)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
reset
set lmargin at screen 0.654167
set rmargin at screen 0.868750
set tmargin at screen 0.832432
set bmargin at screen 0.201802
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "preparing" at screen 0.761458, screen 0.870270 center front
$g0 << EOD
1 0.01 0.011 0.01275
2 0.0175 0.01925 0.0223125
EOD
$g1 << EOD
1 0.01125 0.012375 0.01434375
8 0.065 0.0715 0.082875
EOD
set xrange [0.58:8.42]
set xtics rotate by -50 ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.761458, screen 0.034234 center front
set yrange [0:0.1]
set ytics ("0" 0, "20 ms" 0.02, "40 ms" 0.04, "60 ms" 0.06, "80 ms" 0.08, "100 ms" 0.1)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
unset multiplot
