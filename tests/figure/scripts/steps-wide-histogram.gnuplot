set terminal svg size 1000,761 dynamic font 'sans-serif,13' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.022000
set rmargin at screen 0.478000
set tmargin at screen 0.903022
set bmargin at screen 0.784757
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "UNET3D, 4 files (MLLOG): whole step, seconds" at screen 0.022000, screen 0.976347 left front
set label "1 GPU, batch 1" at screen 0.250000, screen 0.940867 center front
set label "μ 0.01369, σ 0.000144, n 12" at screen 0.250000, screen 0.917214 center front
unset ytics
set border 1
unset grid
set xrange [0.013484:0.013916]
set xtics ('0.0135' 0.0135, '0.0139' 0.0139)
$bins << EOD
0.0135222222 4.44444444e-05 5625
0.0135666667 4.44444444e-05 0
0.0136111111 4.44444444e-05 3750
0.0136555556 4.44444444e-05 0
0.0137 4.44444444e-05 3750
0.0137444444 4.44444444e-05 0
0.0137888889 4.44444444e-05 5625
0.0138333333 4.44444444e-05 0
0.0138777778 4.44444444e-05 3750
EOD
set arrow from first 0.0137, graph 0 rto 0, graph 1 nohead dashtype 2 linecolor rgb '#d55e00' linewidth 1.4 front
set samples 100
set yrange [0:5906.25]
plot $bins using 1:3:2 with boxes fillcolor rgb '#7fb8d8' fillstyle solid 1 noborder notitle, exp(-0.5*((x-0.0136916666667)/0.000144096803882)**2)/(0.000144096803882*sqrt(2*pi)) with lines linecolor rgb '#222222' linewidth 1.4 notitle
reset
set lmargin at screen 0.022000
set rmargin at screen 0.478000
set tmargin at screen 0.661997
set bmargin at screen 0.543732
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "1 GPU, batch 4" at screen 0.250000, screen 0.699842 center front
set label "μ 0.6846, σ 0.0072, n 12" at screen 0.250000, screen 0.676189 center front
unset ytics
set border 1
unset grid
set xrange [0.6742:0.6958]
set xtics ('0.675' 0.675, '0.695' 0.695)
$bins << EOD
0.676111111 0.00222222222 112.5
0.678333333 0.00222222222 0
0.680555556 0.00222222222 75
0.682777778 0.00222222222 0
0.685 0.00222222222 75
0.687222222 0.00222222222 0
0.689444444 0.00222222222 112.5
0.691666667 0.00222222222 0
0.693888889 0.00222222222 75
EOD
set arrow from first 0.685, graph 0 rto 0, graph 1 nohead dashtype 2 linecolor rgb '#d55e00' linewidth 1.4 front
set samples 100
set yrange [0:118.125]
plot $bins using 1:3:2 with boxes fillcolor rgb '#7fb8d8' fillstyle solid 1 noborder notitle, exp(-0.5*((x-0.684583333333)/0.00720484019408)**2)/(0.00720484019408*sqrt(2*pi)) with lines linecolor rgb '#222222' linewidth 1.4 notitle
reset
set lmargin at screen 0.022000
set rmargin at screen 0.478000
set tmargin at screen 0.420972
set bmargin at screen 0.302707
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "1 GPU, batch 64" at screen 0.250000, screen 0.458817 center front
set label "μ 5.477, σ 0.0576, n 12" at screen 0.250000, screen 0.435164 center front
unset ytics
set border 1
unset grid
set xrange [5.3936:5.5664]
set xtics ('5.4' 5.4, '5.56' 5.56)
$bins << EOD
5.40888889 0.0177777778 14.0625
5.42666667 0.0177777778 0
5.44444444 0.0177777778 9.375
5.46222222 0.0177777778 0
5.48 0.0177777778 9.375
5.49777778 0.0177777778 0
5.51555556 0.0177777778 14.0625
5.53333333 0.0177777778 0
5.55111111 0.0177777778 9.375
EOD
set arrow from first 5.48, graph 0 rto 0, graph 1 nohead dashtype 2 linecolor rgb '#d55e00' linewidth 1.4 front
set samples 100
set yrange [0:14.765625]
plot $bins using 1:3:2 with boxes fillcolor rgb '#7fb8d8' fillstyle solid 1 noborder notitle, exp(-0.5*((x-5.47666666667)/0.0576387215526)**2)/(0.0576387215526*sqrt(2*pi)) with lines linecolor rgb '#222222' linewidth 1.4 notitle
reset
set lmargin at screen 0.522000
set rmargin at screen 0.978000
set tmargin at screen 0.179947
set bmargin at screen 0.061682
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "16 GPUs, batch 4k" at screen 0.750000, screen 0.217792 center front
set label "μ 123.2, σ 1.3, n 12" at screen 0.750000, screen 0.194139 center front
unset ytics
set border 1
unset grid
set xrange [121.356:125.244]
set xtics ('122' 121.5, '125' 125.1)
$bins << EOD
121.7 0.4 0.625
122.1 0.4 0
122.5 0.4 0.416666667
122.9 0.4 0
123.3 0.4 0.416666667
123.7 0.4 0
124.1 0.4 0.625
124.5 0.4 0
124.9 0.4 0.416666667
EOD
set arrow from first 123.3, graph 0 rto 0, graph 1 nohead dashtype 2 linecolor rgb '#d55e00' linewidth 1.4 front
set samples 100
set yrange [0:0.65625]
plot $bins using 1:3:2 with boxes fillcolor rgb '#7fb8d8' fillstyle solid 1 noborder notitle, exp(-0.5*((x-123.225)/1.29687123493)**2)/(1.29687123493*sqrt(2*pi)) with lines linecolor rgb '#222222' linewidth 1.4 notitle
unset multiplot
