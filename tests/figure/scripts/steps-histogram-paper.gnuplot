set terminal svg size 672,363 dynamic font 'sans-serif,10' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.026190
set rmargin at screen 0.473810
set tmargin at screen 0.899725
set bmargin at screen 0.734435
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "1 GPU, batch 1" at screen 0.250000, screen 0.961433 center front
set label "μ 0.009, σ 0.00135, n 12" at screen 0.250000, screen 0.922865 center front
unset ytics
set border 1
unset grid
set xrange [0.00684:0.01116]
set xtics ('0.007' 0.007, '0.011' 0.011)
$bins << EOD
0.00722222222 0.000444444444 375
0.00766666667 0.000444444444 0
0.00811111111 0.000444444444 562.5
0.00855555556 0.000444444444 0
0.009 0.000444444444 375
0.00944444444 0.000444444444 0
0.00988888889 0.000444444444 562.5
0.0103333333 0.000444444444 0
0.0107777778 0.000444444444 375
EOD
set arrow from first 0.009, graph 0 rto 0, graph 1 nohead dashtype 2 linecolor rgb '#d55e00' linewidth 1 front
set samples 100
set yrange [0:590.625]
plot $bins using 1:3:2 with boxes fillcolor rgb '#7fb8d8' fillstyle solid 1 noborder notitle, exp(-0.5*((x-0.009)/0.00135400640077)**2)/(0.00135400640077*sqrt(2*pi)) with lines linecolor rgb '#222222' linewidth 1 notitle
reset
set lmargin at screen 0.526190
set rmargin at screen 0.973810
set tmargin at screen 0.899725
set bmargin at screen 0.734435
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "2 GPUs, batch 1" at screen 0.750000, screen 0.961433 center front
set label "μ 0.01013, σ 0.00152, n 12" at screen 0.750000, screen 0.922865 center front
unset ytics
set border 1
unset grid
set xrange [0.007695:0.012555]
set xtics ('0.00788' 0.007875, '0.0124' 0.012375)
$bins << EOD
0.008125 0.0005 333.333333
0.008625 0.0005 0
0.009125 0.0005 500
0.009625 0.0005 0
0.010125 0.0005 333.333333
0.010625 0.0005 0
0.011125 0.0005 500
0.011625 0.0005 0
0.012125 0.0005 333.333333
EOD
set arrow from first 0.010125, graph 0 rto 0, graph 1 nohead dashtype 2 linecolor rgb '#d55e00' linewidth 1 front
set samples 100
set yrange [0:525]
plot $bins using 1:3:2 with boxes fillcolor rgb '#7fb8d8' fillstyle solid 1 noborder notitle, exp(-0.5*((x-0.010125)/0.00152325720087)**2)/(0.00152325720087*sqrt(2*pi)) with lines linecolor rgb '#222222' linewidth 1 notitle
reset
set lmargin at screen 0.026190
set rmargin at screen 0.473810
set tmargin at screen 0.566667
set bmargin at screen 0.401377
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "1 GPU, batch 2" at screen 0.250000, screen 0.628375 center front
set label "μ 0.01575, σ 0.00237, n 12" at screen 0.250000, screen 0.589807 center front
unset ytics
set border 1
unset grid
set xrange [0.01197:0.01953]
set xtics ('0.0123' 0.01225, '0.0192' 0.01925)
$bins << EOD
0.0126388889 0.000777777778 214.285714
0.0134166667 0.000777777778 0
0.0141944444 0.000777777778 321.428571
0.0149722222 0.000777777778 0
0.01575 0.000777777778 214.285714
0.0165277778 0.000777777778 0
0.0173055556 0.000777777778 321.428571
0.0180833333 0.000777777778 0
0.0188611111 0.000777777778 214.285714
EOD
set arrow from first 0.01575, graph 0 rto 0, graph 1 nohead dashtype 2 linecolor rgb '#d55e00' linewidth 1 front
set samples 100
set yrange [0:337.5]
plot $bins using 1:3:2 with boxes fillcolor rgb '#7fb8d8' fillstyle solid 1 noborder notitle, exp(-0.5*((x-0.01575)/0.00236951120135)**2)/(0.00236951120135*sqrt(2*pi)) with lines linecolor rgb '#222222' linewidth 1 notitle
reset
set lmargin at screen 0.526190
set rmargin at screen 0.973810
set tmargin at screen 0.233609
set bmargin at screen 0.068320
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "2 GPUs, batch 8" at screen 0.750000, screen 0.295317 center front
set label "μ 0.0585, σ 0.0088, n 12" at screen 0.750000, screen 0.256749 center front
unset ytics
set border 1
unset grid
set xrange [0.04446:0.07254]
set xtics ('0.0455' 0.0455, '0.0715' 0.0715)
$bins << EOD
0.0469444444 0.00288888889 57.6923077
0.0498333333 0.00288888889 0
0.0527222222 0.00288888889 86.5384615
0.0556111111 0.00288888889 0
0.0585 0.00288888889 57.6923077
0.0613888889 0.00288888889 0
0.0642777778 0.00288888889 86.5384615
0.0671666667 0.00288888889 0
0.0700555556 0.00288888889 57.6923077
EOD
set arrow from first 0.0585, graph 0 rto 0, graph 1 nohead dashtype 2 linecolor rgb '#d55e00' linewidth 1 front
set samples 100
set yrange [0:90.8653846]
plot $bins using 1:3:2 with boxes fillcolor rgb '#7fb8d8' fillstyle solid 1 noborder notitle, exp(-0.5*((x-0.0585)/0.00880104160502)**2)/(0.00880104160502*sqrt(2*pi)) with lines linecolor rgb '#222222' linewidth 1 notitle
unset multiplot
