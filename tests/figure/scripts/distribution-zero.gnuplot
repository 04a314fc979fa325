set terminal svg size 1000,1288 dynamic font 'sans-serif,13' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.064000
set rmargin at screen 0.980000
set tmargin at screen 1.000000
set bmargin at screen 0.980435
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
unset border
unset tics
set xrange [0:1]
set yrange [0:1]
set key at screen 0.980000, screen 0.995807 right top horizontal Left reverse samplen 1
plot NaN with lines linewidth 4 linecolor rgb '#0072b2' title "run.db", NaN with lines linewidth 4 linecolor rgb '#e69f00' title "slow.db"
reset
set lmargin at screen 0.064000
set rmargin at screen 0.966000
set tmargin at screen 0.963665
set bmargin at screen 0.870497
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "read: latency" at screen 0.064000, screen 0.971351 left front
set logscale x 10
set xrange [1e-05:1]
set xtics ("" 1e-05, "" 0.0001, "" 0.001, "" 0.01, "" 0.1, "" 1)
set xrange [5.14934112229e-06:1]
set xtics add ('' 7.17589097067e-06)
$bars0 << EOD
1.77827941e-05 0
2.73841963e-05 2.5
4.21696503e-05 0
6.49381632e-05 0
0.0001 0
0.000153992653 2.5
0.000237137371 2.5
0.000365174127 2.5
0.000562341325 5
0.000865964323 5
0.00133352143 7.5
# 66 rows; sums 1.39822655 8030 0 0 0 0
EOD
$bars1 << EOD
6.67768351e-06 0
6.67768351e-06 100
7.71126861e-06 100
7.71126861e-06 0
EOD
set arrow from 0.000380928, graph 0 to 0.000380928, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#0072b2' front
set label 'median 381 us' at 0.000380928, graph 0.9250 left offset 0.5,0 textcolor rgb '#0072b2' front
set arrow from 7.17589097067e-06, graph 0 to 7.17589097067e-06, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#e69f00' front
set label 'median 0 s' at 7.17589097067e-06, graph 0.7750 left offset 0.5,0 textcolor rgb '#e69f00' front
set yrange [0:100]
set ytics ("0" 0, "50" 50, "100" 100)
set label "% of calls" at screen 0.018000, screen 0.917081 center rotate front
plot $bars0 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#0072b2' notitle, $bars0 with lines linewidth 0.84 linecolor rgb '#0072b2' notitle, $bars1 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#e69f00' notitle, $bars1 with lines linewidth 0.84 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.064000
set rmargin at screen 0.966000
set tmargin at screen 0.858075
set bmargin at screen 0.811491
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set logscale x 10
set xrange [1e-05:1]
set xtics ("10 us" 1e-05, "100 us" 0.0001, "1 ms" 0.001, "10 ms" 0.01, "100 ms" 0.1, "1 s" 1)
set xrange [5.14934112229e-06:1]
set xtics add ('0' 7.17589097067e-06)
$sums0 << EOD
5.14934112e-06 0
2.8992e-05 7.5
5.6e-05 17.5
0.00012 25
0.000188928 35
0.000308992 42.5
0.00041984 52.5
0.000595968 60
0.000748544 70
0.000980992 77.5
0.001175552 87.5
0.001463296 95
# 83 rows; sums 85.7281931 235850 0 0 0 0
EOD
$sums1 << EOD
5.14934112e-06 0
7.17589097e-06 0
7.17589097e-06 100
7.17589097e-06 100
1 100
EOD
set label "up to, %" at screen 0.018000, screen 0.834783 center rotate front
set yrange [0:100]
set ytics 50
plot $sums0 with lines linewidth 1.4 linecolor rgb '#0072b2' notitle, $sums1 with lines linewidth 1.4 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.064000
set rmargin at screen 0.966000
set tmargin at screen 0.768168
set bmargin at screen 0.675000
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "write: latency" at screen 0.064000, screen 0.775854 left front
set logscale x 10
set xrange [1e-05:1]
set xtics ("" 1e-05, "" 0.0001, "" 0.001, "" 0.01, "" 0.1, "" 1)
set xrange [5.14934112229e-06:1]
set xtics add ('' 7.17589097067e-06)
$bars0 << EOD
0.486967525 0
0.486967525 100
0.562341325 100
0.562341325 0
EOD
$bars1 << EOD
6.67768351e-06 0
6.67768351e-06 100
7.71126861e-06 100
7.71126861e-06 0
EOD
set arrow from 0.5, graph 0 to 0.5, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#0072b2' front
set label 'median 500 ms' at 0.5, graph 0.9250 right offset -0.5,0 textcolor rgb '#0072b2' front
set arrow from 7.17589097067e-06, graph 0 to 7.17589097067e-06, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#e69f00' front
set label 'median 0 s' at 7.17589097067e-06, graph 0.7750 left offset 0.5,0 textcolor rgb '#e69f00' front
set yrange [0:100]
set ytics ("0" 0, "50" 50, "100" 100)
set label "% of calls" at screen 0.018000, screen 0.721584 center rotate front
plot $bars0 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#0072b2' notitle, $bars0 with lines linewidth 0.84 linecolor rgb '#0072b2' notitle, $bars1 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#e69f00' notitle, $bars1 with lines linewidth 0.84 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.064000
set rmargin at screen 0.966000
set tmargin at screen 0.662578
set bmargin at screen 0.615994
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set logscale x 10
set xrange [1e-05:1]
set xtics ("10 us" 1e-05, "100 us" 0.0001, "1 ms" 0.001, "10 ms" 0.01, "100 ms" 0.1, "1 s" 1)
set xrange [5.14934112229e-06:1]
set xtics add ('0' 7.17589097067e-06)
$sums0 << EOD
5.14934112e-06 0
0.499908608 0
0.499908608 100
0.5 100
1 100
EOD
$sums1 << EOD
5.14934112e-06 0
7.17589097e-06 0
7.17589097e-06 100
7.17589097e-06 100
1 100
EOD
set label "up to, %" at screen 0.018000, screen 0.639286 center rotate front
set yrange [0:100]
set ytics 50
plot $sums0 with lines linewidth 1.4 linecolor rgb '#0072b2' notitle, $sums1 with lines linewidth 1.4 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.064000
set rmargin at screen 0.966000
set tmargin at screen 0.572671
set bmargin at screen 0.479503
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "sync: latency" at screen 0.064000, screen 0.580357 left front
set logscale x 10
set xrange [1e-05:1]
set xtics ("" 1e-05, "" 0.0001, "" 0.001, "" 0.01, "" 0.1, "" 1)
set xrange [5.14934112229e-06:1]
set xtics add ('' 7.17589097067e-06)
$bars0 << EOD
0.237137371 0
0.237137371 100
0.273841963 100
0.273841963 0
EOD
$bars1 << EOD
6.67768351e-06 0
6.67768351e-06 100
7.71126861e-06 100
7.71126861e-06 0
EOD
set arrow from 0.25, graph 0 to 0.25, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#0072b2' front
set label 'median 250 ms' at 0.25, graph 0.9250 right offset -0.5,0 textcolor rgb '#0072b2' front
set arrow from 7.17589097067e-06, graph 0 to 7.17589097067e-06, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#e69f00' front
set label 'median 0 s' at 7.17589097067e-06, graph 0.7750 left offset 0.5,0 textcolor rgb '#e69f00' front
set yrange [0:100]
set ytics ("0" 0, "50" 50, "100" 100)
set label "% of calls" at screen 0.018000, screen 0.526087 center rotate front
plot $bars0 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#0072b2' notitle, $bars0 with lines linewidth 0.84 linecolor rgb '#0072b2' notitle, $bars1 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#e69f00' notitle, $bars1 with lines linewidth 0.84 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.064000
set rmargin at screen 0.966000
set tmargin at screen 0.467081
set bmargin at screen 0.420497
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set logscale x 10
set xrange [1e-05:1]
set xtics ("10 us" 1e-05, "100 us" 0.0001, "1 ms" 0.001, "10 ms" 0.01, "100 ms" 0.1, "1 s" 1)
set xrange [5.14934112229e-06:1]
set xtics add ('0' 7.17589097067e-06)
$sums0 << EOD
5.14934112e-06 0
0.249954304 0
0.249954304 100
0.25 100
1 100
EOD
$sums1 << EOD
5.14934112e-06 0
7.17589097e-06 0
7.17589097e-06 100
7.17589097e-06 100
1 100
EOD
set label "up to, %" at screen 0.018000, screen 0.443789 center rotate front
set yrange [0:100]
set ytics 50
plot $sums0 with lines linewidth 1.4 linecolor rgb '#0072b2' notitle, $sums1 with lines linewidth 1.4 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.064000
set rmargin at screen 0.966000
set tmargin at screen 0.377174
set bmargin at screen 0.284006
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "block.read: latency" at screen 0.064000, screen 0.384860 left front
set logscale x 10
set xrange [1e-05:1]
set xtics ("" 1e-05, "" 0.0001, "" 0.001, "" 0.01, "" 0.1, "" 1)
set xrange [5.14934112229e-06:1]
set xtics add ('' 7.17589097067e-06)
$bars0 << EOD
0.0001 0
0.000115478198 6.66667
0.000153992653 3.33333
0.000177827941 6.66667
0.000237137371 6.66667
0.000273841963 10
0.000365174127 13.3333
0.000421696503 16.6667
0.000562341325 3.33333
# 26 rows; sums 0.122888353 3113.33225 0 0 0 0
EOD
$bars1 << EOD
6.67768351e-06 0
6.67768351e-06 100
7.71126861e-06 100
7.71126861e-06 0
EOD
set arrow from 0.000289792, graph 0 to 0.000289792, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#0072b2' front
set label 'median 290 us' at 0.000289792, graph 0.9250 left offset 0.5,0 textcolor rgb '#0072b2' front
set arrow from 7.17589097067e-06, graph 0 to 7.17589097067e-06, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#e69f00' front
set label 'median 0 s' at 7.17589097067e-06, graph 0.7750 left offset 0.5,0 textcolor rgb '#e69f00' front
set yrange [0:100]
set ytics ("0" 0, "50" 50, "100" 100)
set label "% of calls" at screen 0.018000, screen 0.330590 center rotate front
plot $bars0 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#0072b2' notitle, $bars0 with lines linewidth 0.84 linecolor rgb '#0072b2' notitle, $bars1 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#e69f00' notitle, $bars1 with lines linewidth 0.84 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.064000
set rmargin at screen 0.966000
set tmargin at screen 0.271584
set bmargin at screen 0.225000
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set logscale x 10
set xrange [1e-05:1]
set xtics ("10 us" 1e-05, "100 us" 0.0001, "1 ms" 0.001, "10 ms" 0.01, "100 ms" 0.1, "1 s" 1)
set xrange [5.14934112229e-06:1]
set xtics add ('0' 7.17589097067e-06)
$sums0 << EOD
5.14934112e-06 0
0.000129984 10
0.000169984 20
0.00020992 30
0.000249984 40
0.000289792 50
0.000329984 60
0.00036992 70
0.000409856 80
0.000449792 90
0.000489984 100
# 63 rows; sums 63.7167796 137016.668 0 0 0 0
EOD
$sums1 << EOD
5.14934112e-06 0
7.17589097e-06 0
7.17589097e-06 100
7.17589097e-06 100
1 100
EOD
set label "up to, %" at screen 0.018000, screen 0.248292 center rotate front
set yrange [0:100]
set ytics 50
plot $sums0 with lines linewidth 1.4 linecolor rgb '#0072b2' notitle, $sums1 with lines linewidth 1.4 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.064000
set rmargin at screen 0.966000
set tmargin at screen 0.181677
set bmargin at screen 0.088509
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "block.write: latency" at screen 0.064000, screen 0.189363 left front
set logscale x 10
set xrange [1e-05:1]
set xtics ("" 1e-05, "" 0.0001, "" 0.001, "" 0.01, "" 0.1, "" 1)
set xrange [5.14934112229e-06:1]
set xtics add ('' 7.17589097067e-06)
$bars0 << EOD
8.65964323e-05 0
0.0001 10
0.000133352143 0
0.000153992653 10
0.000177827941 0
0.000205352503 10
0.000237137371 10
0.000273841963 10
0.000316227766 10
0.000365174127 10
0.000421696503 20
0.000486967525 10
# 24 rows; sums 0.094060387 2900 0 0 0 0
EOD
$bars1 << EOD
6.67768351e-06 0
6.67768351e-06 100
7.71126861e-06 100
7.71126861e-06 0
EOD
set arrow from 0.000259968, graph 0 to 0.000259968, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#0072b2' front
set label 'median 260 us' at 0.000259968, graph 0.9250 left offset 0.5,0 textcolor rgb '#0072b2' front
set arrow from 7.17589097067e-06, graph 0 to 7.17589097067e-06, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#e69f00' front
set label 'median 0 s' at 7.17589097067e-06, graph 0.7750 left offset 0.5,0 textcolor rgb '#e69f00' front
set yrange [0:100]
set ytics ("0" 0, "50" 50, "100" 100)
set label "% of calls" at screen 0.018000, screen 0.135093 center rotate front
plot $bars0 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#0072b2' notitle, $bars0 with lines linewidth 0.84 linecolor rgb '#0072b2' notitle, $bars1 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#e69f00' notitle, $bars1 with lines linewidth 0.84 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.064000
set rmargin at screen 0.966000
set tmargin at screen 0.076087
set bmargin at screen 0.029503
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set logscale x 10
set xrange [1e-05:1]
set xtics ("10 us" 1e-05, "100 us" 0.0001, "1 ms" 0.001, "10 ms" 0.01, "100 ms" 0.1, "1 s" 1)
set xrange [5.14934112229e-06:1]
set xtics add ('0' 7.17589097067e-06)
$sums0 << EOD
5.14934112e-06 0
9.9968e-05 10
0.000139904 20
0.000179968 30
0.000219904 40
0.000259968 50
0.000299776 60
0.000339968 70
0.000379904 80
0.00041984 90
0.000459776 100
1 100
# 23 rows; sums 23.0876966 19350 0 0 0 0
EOD
$sums1 << EOD
5.14934112e-06 0
7.17589097e-06 0
7.17589097e-06 100
7.17589097e-06 100
1 100
EOD
set label "up to, %" at screen 0.018000, screen 0.052795 center rotate front
set yrange [0:100]
set ytics 50
plot $sums0 with lines linewidth 1.4 linecolor rgb '#0072b2' notitle, $sums1 with lines linewidth 1.4 linecolor rgb '#e69f00' notitle
unset multiplot
