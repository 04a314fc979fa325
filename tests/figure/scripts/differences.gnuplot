set terminal svg size 1000,756 dynamic font 'sans-serif,13' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.261000
set rmargin at screen 0.482000
set tmargin at screen 0.923810
set bmargin at screen 0.040476
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
$bars << EOD
0 0.96021 0.935525 0.993587 ? 0x009e73
2.5 0.646389 ? ? ? 0xb8b8b8
4.5 1 ? ? ? 0xb8b8b8
6.5 0.97561 ? ? ? 0xb8b8b8
9 0.266667 0.103333 0.503333 ? 0x80cfb9
11 0.3 0.085 0.485 ? 0x80cfb9
13 0.841346 0.800768 0.877753 ? 0x80cfb9
15 0.841388 0.77824 0.88196 ? 0x80cfb9
17 0 0 0 ? 0x80cfb9
19 0.84096 0.84096 0.84096 ? 0x80cfb9
# 19 rows; sums 2451.5 125.037314 83.722284 98.375511 0 1.72378237e+09
EOD
set xrange [0:1]
set yrange [20:-0.7]
set xtics 0.25
set ytics ("similarity" 0, "size" 1.5, "latency" 2.5, "inter-arrival" 3.5, "rate" 4.5, "count" 5.5, "duration" 6.5, "series" 7.5, "latency: block.read.ks" 9, "latency: read.ks" 10, "latency: block.write.ks" 11, "latency: read.wasserstein" 12, "latency: block.read.wasserstein" 13, "duration: run" 14, "latency: block.write.wasserstein" 15, "latency: write.ks" 16, "latency: sync.ks" 17, "latency: write.wasserstein" 18, "latency: sync.wasserstein" 19) scale 0
set grid noytics
set bars 0.5
set label "similarity 0.9602 (95 %: 0.9355-0.9936)" at screen 0.009000, screen 0.978571 left front
set label "lines: 95 %" at screen 0.009000, screen 0.950000 left front
set label "run.db" at screen 0.532400, screen 0.978571 left front
set arrow from screen 0.500000, screen 0.978571 to screen 0.525200, screen 0.978571 nohead lw 3 lc rgb '#0072b2'
set label "slow.db" at screen 0.773400, screen 0.978571 left front
set arrow from screen 0.741000, screen 0.978571 to screen 0.766200, screen 0.978571 nohead lw 3 lc rgb '#d55e00'
plot $bars using (0):1:(0):2:($1-0.36):($1+0.36):6 with boxxyerror fillstyle solid 1 noborder lc rgb variable, $bars using 2:1:3:4 with xerrorbars pt -1 lw 1.4 lc rgb 'black', \
  $bars using 5:1:(0):(0.42) with vectors nohead lw 2 lc rgb '#d55e00', \
  $bars using 5:1:(0):(-0.42) with vectors nohead lw 2 lc rgb '#d55e00'
reset
set lmargin at screen 0.581000
set rmargin at screen 0.973000
set tmargin at screen 0.923810
set bmargin at screen 0.760119
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "latency of block.read: ks 0.267, wasserstein 0.841" at screen 0.518000, screen 0.950000 left front
set logscale x 10
set xrange [0.0001:0.01]
set xtics ("100 us" 0.0001, "1 ms" 0.001, "10 ms" 0.01)
set yrange [0:1.02]
set ytics 0.5
$look1 << EOD
0.000111 0.0333333 0
0.000137909859 0.1 0
0.000171343505 0.2 0
0.00021288251 0.3 0
0.000264491863 0.4 0
0.000328612932 0.566667 0
0.000408278946 0.766667 0.1
0.000507258483 1 0.166667
0.000630233745 1 0.266667
0.000783022042 1 0.4
0.000972850982 1 0.566667
0.00120870037 1 0.766667
# 251 rows; sums 23.1653782 26775.7999 11701.933 0 0 0
EOD
plot $look1 using 1:2:3 with filledcurves fc rgb '#f3d9c9', '' using 1:2 with lines lw 1.4 lc rgb '#0072b2', '' using 1:3 with lines lw 1.4 lc rgb '#d55e00'
reset
set lmargin at screen 0.581000
set rmargin at screen 0.973000
set tmargin at screen 0.683929
set bmargin at screen 0.520238
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "latency of read: ks 0.650, wasserstein 0.842" at screen 0.518000, screen 0.710119 left front
set logscale x 10
set xrange [1e-05:0.01]
set xtics ("10 us" 1e-05, "100 us" 0.0001, "1 ms" 0.001, "10 ms" 0.01)
set yrange [0:1.02]
set ytics 0.5
$look2 << EOD
2.1e-05 0.025 0
3.30380474e-05 0.1 0
5.19767892e-05 0.15 0
8.1771982e-05 0.2 0.075
0.000128646982 0.275 0.125
0.000202392622 0.35 0.175
0.00031841224 0.45 0.25
0.000500938984 0.55 0.325
0.000788097423 0.7 0.4
0.00123986667 0.875 0.5
0.00195060827 1 0.65
0.00306877563 1 0.8
# 251 rows; sums 44.4832859 22261 14747.2 0 0 0
EOD
plot $look2 using 1:2:3 with filledcurves fc rgb '#f3d9c9', '' using 1:2 with lines lw 1.4 lc rgb '#0072b2', '' using 1:3 with lines lw 1.4 lc rgb '#d55e00'
reset
set lmargin at screen 0.581000
set rmargin at screen 0.973000
set tmargin at screen 0.444048
set bmargin at screen 0.280357
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "latency of block.write: ks 0.300, wasserstein 0.841" at screen 0.518000, screen 0.470238 left front
set logscale x 10
set xrange [0.0001:0.01]
set xtics ("100 us" 0.0001, "1 ms" 0.001, "10 ms" 0.01)
set yrange [0:1.02]
set ytics 0.5
$look3 << EOD
0.000101 0.1 0
0.000125815645 0.1 0
0.00015672848 0.2 0
0.000195236581 0.3 0
0.000243206103 0.4 0
0.000302961709 0.6 0.1
0.000377399235 0.7 0.1
0.00047012602 1 0.2
0.000585635726 1 0.3
0.000729526104 1 0.4
0.000908770268 1 0.6
0.00113205463 1 0.7
# 251 rows; sums 21.6022483 26632 11789.1 0 0 0
EOD
plot $look3 using 1:2:3 with filledcurves fc rgb '#f3d9c9', '' using 1:2 with lines lw 1.4 lc rgb '#0072b2', '' using 1:3 with lines lw 1.4 lc rgb '#d55e00'
reset
set lmargin at screen 0.581000
set rmargin at screen 0.973000
set tmargin at screen 0.204167
set bmargin at screen 0.040476
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "latency of write: ks 0.000, wasserstein 0.841" at screen 0.518000, screen 0.230357 left front
set logscale x 10
set xrange [0.1:10]
set xtics ("100 ms" 0.1, "1 s" 1, "10 s" 10)
set yrange [0:1.02]
set ytics 0.5
$look4 << EOD
0.500001 1 0
0.548338841 1 0
0.601349766 1 0
0.659485549 1 0
0.723241636 1 0
0.793161374 1 0
0.869840638 1 0
0.953932906 1 0
1.04615484 1 0
1.14729237 1 0
1.25820742 1 0
1.37984523 1 0
# 251 rows; sums 33967.7779 31626 251 0 0 0
EOD
plot $look4 using 1:2:3 with filledcurves fc rgb '#f3d9c9', '' using 1:2 with lines lw 1.4 lc rgb '#0072b2', '' using 1:3 with lines lw 1.4 lc rgb '#d55e00'
unset multiplot
