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
1 0.001525 0.0017 0.0018
4 0.07625 0.085 0.09
64 0.61 0.68 0.72
EOD
$g1 << EOD
4096 13.725 15.3 16.2
EOD
set logscale x 2
set xrange [0.769230769231:5324.8]
set xtics rotate by -50 ('1' 1, '4' 4, '64' 64, '4k' 4096)
set label "batch" at screen 0.174792, screen 0.034234 center front
set logscale y 10
set yrange [0.001:100]
set ytics ("1 ms" 0.001, "10 ms" 0.01, "100 ms" 0.1, "1 s" 1, "10 s" 10, "100 s" 100)
set key at screen 0.888000, screen 0.832432 left top Left reverse samplen 1
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 title "1 GPU", $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 title "16 GPUs"
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
1 0.0008 0.0009 0.001
4 0.04 0.045 0.05
64 0.32 0.36 0.4
EOD
$g1 << EOD
4096 7.2 8.1 9
EOD
set logscale x 2
set xrange [0.769230769231:5324.8]
set xtics rotate by -50 ('1' 1, '4' 4, '64' 64, '4k' 4096)
set label "batch" at screen 0.468125, screen 0.034234 center front
set logscale y 10
set yrange [0.0001:10]
set ytics ("100 us" 0.0001, "1 ms" 0.001, "10 ms" 0.01, "100 ms" 0.1, "1 s" 1, "10 s" 10)
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
1 0.001 0.0011 0.001275
4 0.05 0.055 0.06375
64 0.4 0.44 0.51
EOD
$g1 << EOD
4096 9 9.9 11.475
EOD
set logscale x 2
set xrange [0.769230769231:5324.8]
set xtics rotate by -50 ('1' 1, '4' 4, '64' 64, '4k' 4096)
set label "batch" at screen 0.761458, screen 0.034234 center front
set logscale y 10
set yrange [0.001:100]
set ytics ("1 ms" 0.001, "10 ms" 0.01, "100 ms" 0.1, "1 s" 1, "10 s" 10, "100 s" 100)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
unset multiplot
