set terminal svg size 1000,475 dynamic font 'sans-serif,13' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.067500
set rmargin at screen 0.428750
set tmargin at screen 0.882526
set bmargin at screen 0.566737
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "UNET3D, 4 files (MLLOG)" at screen 0.067500, screen 0.962105 left front
set label "storage (VFS), samples/s" at screen 0.248125, screen 0.909053 center front
$g0 << EOD
1 100 111.111111 125
2 57.1428571 63.4920635 71.4285714
EOD
$g1 << EOD
1 88.8888889 98.7654321 111.111111
8 15.3846154 17.0940171 19.2307692
EOD
set xrange [0.58:8.42]
set xtics ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.248125, screen 0.485263 center front
set yrange [0:150]
set ytics ("0" 0, "50" 50, "100" 100, "150" 150)
set key at screen 0.888000, screen 0.882526 left top Left reverse samplen 1
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 title "1 GPU", $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 title "2 GPUs"
reset
set lmargin at screen 0.507500
set rmargin at screen 0.868750
set tmargin at screen 0.882526
set bmargin at screen 0.566737
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "loading, samples/s" at screen 0.688125, screen 0.909053 center front
$g0 << EOD
1 55.5555556 58.8235294 65.625
2 63.4920635 67.2268908 75
EOD
$g1 << EOD
1 49.382716 52.2875817 58.3333333
8 68.3760684 72.39819 80.7692308
EOD
set xrange [0.58:8.42]
set xtics ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.688125, screen 0.485263 center front
set yrange [0:100]
set ytics ("0" 0, "20" 20, "40" 40, "60" 60, "80" 80, "100" 100)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
reset
set lmargin at screen 0.067500
set rmargin at screen 0.428750
set tmargin at screen 0.411368
set bmargin at screen 0.095579
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "computing, samples/s" at screen 0.248125, screen 0.437895 center front
$g0 << EOD
1 8.84955752 8.92857143 9.07043407
2 10.11378 10.2040816 10.3662104
EOD
$g1 << EOD
1 7.86627335 7.93650794 8.06260806
8 10.8917631 10.989011 11.1636112
EOD
set xrange [0.58:8.42]
set xtics ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.248125, screen 0.014105 center front
set yrange [0:15]
set ytics ("0" 0, "5" 5, "10" 10, "15" 15)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
reset
set lmargin at screen 0.507500
set rmargin at screen 0.868750
set tmargin at screen 0.411368
set bmargin at screen 0.095579
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "whole steps, samples/s" at screen 0.688125, screen 0.437895 center front
$g0 << EOD
1 7.24637681 7.29927007 7.39379085
2 8.2815735 8.34202294 8.45004669
EOD
$g1 << EOD
1 6.44122383 6.48824006 6.57225853
8 8.91861761 8.98371701 9.10005028
EOD
set xrange [0.58:8.42]
set xtics ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.688125, screen 0.014105 center front
set yrange [0:10]
set ytics ("0" 0, "2" 2, "4" 4, "6" 6, "8" 8, "10" 10)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
unset multiplot
