set terminal svg size 1000,518 dynamic font 'sans-serif,13' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.067500
set rmargin at screen 0.428750
set tmargin at screen 0.892278
set bmargin at screen 0.602703
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "UNET3D, 4 files (MLLOG)" at screen 0.067500, screen 0.965251 left front
set label "storage (VFS), samples/s" at screen 0.248125, screen 0.916602 center front
$g0 << EOD
1 1000 1111.11111 1250
4 20 22.2222222 25
64 2.5 2.77777778 3.125
EOD
$g1 << EOD
4096 0.111111111 0.12345679 0.138888889
EOD
set logscale x 2
set xrange [0.769230769231:5324.8]
set xtics rotate by -50 ('1' 1, '4' 4, '64' 64, '4k' 4096)
set label "batch" at screen 0.248125, screen 0.494981 center front
set yrange [0:1500]
set ytics ("0" 0, "500" 500, "1000" 1000, "1500" 1500)
set key at screen 0.888000, screen 0.892278 left top Left reverse samplen 1
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 title "1 GPU", $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 title "16 GPUs"
reset
set lmargin at screen 0.507500
set rmargin at screen 0.868750
set tmargin at screen 0.892278
set bmargin at screen 0.602703
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "loading, samples/s" at screen 0.688125, screen 0.916602 center front
$g0 << EOD
1 555.555556 588.235294 656.25
4 44.4444444 47.0588235 52.5
64 88.8888889 94.1176471 105
EOD
$g1 << EOD
4096 252.839506 267.712418 298.666667
EOD
set logscale x 2
set xrange [0.769230769231:5324.8]
set xtics rotate by -50 ('1' 1, '4' 4, '64' 64, '4k' 4096)
set label "batch" at screen 0.688125, screen 0.494981 center front
set yrange [0:800]
set ytics ("0" 0, "200" 200, "400" 400, "600" 600, "800" 800)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
reset
set lmargin at screen 0.067500
set rmargin at screen 0.428750
set tmargin at screen 0.418533
set bmargin at screen 0.128958
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "computing, samples/s" at screen 0.248125, screen 0.442857 center front
$g0 << EOD
1 88.4955752 89.2857143 90.7043407
4 7.07964602 7.14285714 7.25634726
64 14.159292 14.2857143 14.5126945
EOD
$g1 << EOD
4096 40.2753196 40.6349206 41.2805533
EOD
set logscale x 2
set xrange [0.769230769231:5324.8]
set xtics rotate by -50 ('1' 1, '4' 4, '64' 64, '4k' 4096)
set label "batch" at screen 0.248125, screen 0.021236 center front
set yrange [0:100]
set ytics ("0" 0, "20" 20, "40" 40, "60" 60, "80" 80, "100" 100)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
reset
set lmargin at screen 0.507500
set rmargin at screen 0.868750
set tmargin at screen 0.418533
set bmargin at screen 0.128958
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "whole steps, samples/s" at screen 0.688125, screen 0.442857 center front
$g0 << EOD
1 72.4637681 72.9927007 73.9379085
4 5.79710145 5.83941606 5.91503268
64 11.5942029 11.6788321 11.8300654
EOD
$g1 << EOD
4096 32.979066 33.2197891 33.6499637
EOD
set logscale x 2
set xrange [0.769230769231:5324.8]
set xtics rotate by -50 ('1' 1, '4' 4, '64' 64, '4k' 4096)
set label "batch" at screen 0.688125, screen 0.021236 center front
set yrange [0:80]
set ytics ("0" 0, "20" 20, "40" 40, "60" 60, "80" 80)
plot $g0 using 1:2:4 with filledcurves fillcolor rgb '#0072b2' fillstyle transparent solid 0.15 noborder notitle, $g1 using 1:2:4 with filledcurves fillcolor rgb '#e69f00' fillstyle transparent solid 0.15 noborder notitle, $g0 using 1:3 with linespoints linecolor rgb '#0072b2' linewidth 1.4 pointtype 7 pointsize 0.45 notitle, $g1 using 1:3 with linespoints linecolor rgb '#e69f00' linewidth 1.4 pointtype 7 pointsize 0.45 notitle
unset multiplot
