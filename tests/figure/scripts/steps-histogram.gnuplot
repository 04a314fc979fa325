set terminal svg size 1000,532 dynamic font 'sans-serif,13' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.022000
set rmargin at screen 0.478000
set tmargin at screen 0.861278
set bmargin at screen 0.692105
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "UNET3D, 4 files (MLLOG): computing, seconds" at screen 0.022000, screen 0.966165 left front
set label "1 GPU, batch 1" at screen 0.250000, screen 0.915414 center front
set label "μ 0.1118, σ 0.0014, n 12" at screen 0.250000, screen 0.881579 center front
unset ytics
set border 1
unset grid
set xrange [0.10984:0.11416]
set xtics ('0.11' 0.11, '0.114' 0.114)
$bins << EOD
0.110222222 0.000444444444 562.5
0.110666667 0.000444444444 0
0.111111111 0.000444444444 375
0.111555556 0.000444444444 0
0.112 0.000444444444 562.5
0.112444444 0.000444444444 0
0.112888889 0.000444444444 375
0.113333333 0.000444444444 0
0.113777778 0.000444444444 375
EOD
set arrow from first 0.112, graph 0 rto 0, graph 1 nohead dashtype 2 linecolor rgb '#d55e00' linewidth 1.4 front
set samples 100
set yrange [0:590.625]
plot $bins using 1:3:2 with boxes fillcolor rgb '#7fb8d8' fillstyle solid 1 noborder notitle, exp(-0.5*((x-0.111833333333)/0.00140435829553)**2)/(0.00140435829553*sqrt(2*pi)) with lines linecolor rgb '#222222' linewidth 1.4 notitle
reset
set lmargin at screen 0.522000
set rmargin at screen 0.978000
set tmargin at screen 0.861278
set bmargin at screen 0.692105
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "2 GPUs, batch 1" at screen 0.750000, screen 0.915414 center front
set label "μ 0.1258, σ 0.00158, n 12" at screen 0.750000, screen 0.881579 center front
unset ytics
set border 1
unset grid
set xrange [0.12357:0.12843]
set xtics ('0.124' 0.12375, '0.128' 0.12825)
$bins << EOD
0.124 0.0005 500
0.1245 0.0005 0
0.125 0.0005 333.333333
0.1255 0.0005 0
0.126 0.0005 500
0.1265 0.0005 0
0.127 0.0005 333.333333
0.1275 0.0005 0
0.128 0.0005 333.333333
EOD
set arrow from first 0.126, graph 0 rto 0, graph 1 nohead dashtype 2 linecolor rgb '#d55e00' linewidth 1.4 front
set samples 100
set yrange [0:525]
plot $bins using 1:3:2 with boxes fillcolor rgb '#7fb8d8' fillstyle solid 1 noborder notitle, exp(-0.5*((x-0.1258125)/0.00157990308247)**2)/(0.00157990308247*sqrt(2*pi)) with lines linecolor rgb '#222222' linewidth 1.4 notitle
reset
set lmargin at screen 0.022000
set rmargin at screen 0.478000
set tmargin at screen 0.544925
set bmargin at screen 0.375752
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "1 GPU, batch 2" at screen 0.250000, screen 0.599060 center front
set label "μ 0.1957, σ 0.00246, n 12" at screen 0.250000, screen 0.565226 center front
unset ytics
set border 1
unset grid
set xrange [0.19222:0.19978]
set xtics ('0.193' 0.1925, '0.2' 0.1995)
$bins << EOD
0.192888889 0.000777777778 321.428571
0.193666667 0.000777777778 0
0.194444444 0.000777777778 214.285714
0.195222222 0.000777777778 0
0.196 0.000777777778 321.428571
0.196777778 0.000777777778 0
0.197555556 0.000777777778 214.285714
0.198333333 0.000777777778 0
0.199111111 0.000777777778 214.285714
EOD
set arrow from first 0.196, graph 0 rto 0, graph 1 nohead dashtype 2 linecolor rgb '#d55e00' linewidth 1.4 front
set samples 100
set yrange [0:337.5]
plot $bins using 1:3:2 with boxes fillcolor rgb '#7fb8d8' fillstyle solid 1 noborder notitle, exp(-0.5*((x-0.195708333333)/0.00245762701718)**2)/(0.00245762701718*sqrt(2*pi)) with lines linecolor rgb '#222222' linewidth 1.4 notitle
reset
set lmargin at screen 0.522000
set rmargin at screen 0.978000
set tmargin at screen 0.228571
set bmargin at screen 0.059398
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "2 GPUs, batch 8" at screen 0.750000, screen 0.282707 center front
set label "μ 0.7269, σ 0.00913, n 12" at screen 0.750000, screen 0.248872 center front
unset ytics
set border 1
unset grid
set xrange [0.71396:0.74204]
set xtics ('0.715' 0.715, '0.741' 0.741)
$bins << EOD
0.716444444 0.00288888889 86.5384615
0.719333333 0.00288888889 0
0.722222222 0.00288888889 57.6923077
0.725111111 0.00288888889 0
0.728 0.00288888889 86.5384615
0.730888889 0.00288888889 0
0.733777778 0.00288888889 57.6923077
0.736666667 0.00288888889 0
0.739555556 0.00288888889 57.6923077
EOD
set arrow from first 0.728, graph 0 rto 0, graph 1 nohead dashtype 2 linecolor rgb '#d55e00' linewidth 1.4 front
set samples 100
set yrange [0:90.8653846]
plot $bins using 1:3:2 with boxes fillcolor rgb '#7fb8d8' fillstyle solid 1 noborder notitle, exp(-0.5*((x-0.726916666667)/0.00912832892094)**2)/(0.00912832892094*sqrt(2*pi)) with lines linecolor rgb '#222222' linewidth 1.4 notitle
unset multiplot
