set terminal svg size 672,930 dynamic font 'sans-serif,10' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.095238
set rmargin at screen 0.970238
set tmargin at screen 1.000000
set bmargin at screen 0.978925
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
unset border
unset tics
set xrange [0:1]
set yrange [0:1]
set key at screen 0.970238, screen 0.995484 right top horizontal Left reverse samplen 1
plot NaN with lines linewidth 4 linecolor rgb '#0072b2' title "run.db", NaN with lines linewidth 4 linecolor rgb '#e69f00' title "slow.db"
reset
set lmargin at screen 0.095238
set rmargin at screen 0.949405
set tmargin at screen 0.960860
set bmargin at screen 0.874839
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "read: latency" at screen 0.095238, screen 0.969140 left front
set logscale x 10
set xrange [1e-05:10]
set xtics ("" 1e-05, "" 0.0001, "" 0.001, "" 0.01, "" 0.1, "" 1, "" 10)
set xrange [1e-05:10]
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
5.62341325e-05 0
8.65964323e-05 0
0.000133352143 0
0.000205352503 0
0.000316227766 2.5
0.000486967525 2.5
0.000749894209 2.5
0.00115478198 5
0.00177827941 2.5
0.00273841963 5
0.00421696503 7.5
# 64 rows; sums 3.68491344 7900 0 0 0 0
EOD
set arrow from 0.000380928, graph 0 to 0.000380928, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#0072b2' front
set label 'median 381 us' at 0.000380928, graph 0.9125 left offset 0.5,0 textcolor rgb '#0072b2' front
set arrow from 0.001142784, graph 0 to 0.001142784, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#e69f00' front
set label 'median 1.14 ms' at 0.001142784, graph 0.7375 left offset 0.5,0 textcolor rgb '#e69f00' front
set yrange [0:8]
set ytics ("0" 0, "2" 2, "4" 4, "6" 6, "8" 8)
set label "% of calls" at screen 0.026786, screen 0.917849 center rotate front
plot $bars0 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#0072b2' notitle, $bars0 with lines linewidth 0.6 linecolor rgb '#0072b2' notitle, $bars1 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#e69f00' notitle, $bars1 with lines linewidth 0.6 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.949405
set tmargin at screen 0.857634
set bmargin at screen 0.812473
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set logscale x 10
set xrange [1e-05:10]
set xtics ("10 us" 1e-05, "100 us" 0.0001, "1 ms" 0.001, "10 ms" 0.01, "100 ms" 0.1, "1 s" 1, "10 s" 10)
set xrange [1e-05:10]
$sums0 << EOD
1e-05 0
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
# 83 rows; sums 832.728198 235850 0 0 0 0
EOD
$sums1 << EOD
1e-05 0
8.6976e-05 7.5
0.000167936 17.5
0.000359936 25
0.000566784 35
0.00092672 42.5
0.00125952 52.5
0.001787904 60
0.002246656 70
0.002942976 77.5
0.003526656 87.5
0.004390912 95
# 83 rows; sums 838.184653 235850 0 0 0 0
EOD
set label "up to, %" at screen 0.026786, screen 0.835054 center rotate front
set yrange [0:100]
set ytics 50
plot $sums0 with lines linewidth 1 linecolor rgb '#0072b2' notitle, $sums1 with lines linewidth 1 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.949405
set tmargin at screen 0.765806
set bmargin at screen 0.679785
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "write: latency" at screen 0.095238, screen 0.774086 left front
set logscale x 10
set xrange [1e-05:10]
set xtics ("" 1e-05, "" 0.0001, "" 0.001, "" 0.01, "" 0.1, "" 1, "" 10)
set xrange [1e-05:10]
$bars0 << EOD
0.486967525 0
0.486967525 100
0.562341325 100
0.562341325 0
EOD
$bars1 << EOD
1.33352143 0
1.33352143 100
1.53992653 100
1.53992653 0
EOD
set arrow from 0.5, graph 0 to 0.5, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#0072b2' front
set label 'median 500 ms' at 0.5, graph 0.9125 right offset -0.5,0 textcolor rgb '#0072b2' front
set arrow from 1.5, graph 0 to 1.5, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#e69f00' front
set label 'median 1.5 s' at 1.5, graph 0.7375 right offset -0.5,0 textcolor rgb '#e69f00' front
set yrange [0:100]
set ytics ("0" 0, "50" 50, "100" 100)
set label "% of calls" at screen 0.026786, screen 0.722796 center rotate front
plot $bars0 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#0072b2' notitle, $bars0 with lines linewidth 0.6 linecolor rgb '#0072b2' notitle, $bars1 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#e69f00' notitle, $bars1 with lines linewidth 0.6 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.949405
set tmargin at screen 0.662581
set bmargin at screen 0.617419
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set logscale x 10
set xrange [1e-05:10]
set xtics ("10 us" 1e-05, "100 us" 0.0001, "1 ms" 0.001, "10 ms" 0.01, "100 ms" 0.1, "1 s" 1, "10 s" 10)
set xrange [1e-05:10]
$sums0 << EOD
1e-05 0
0.499908608 0
0.499908608 100
0.5 100
10 100
EOD
$sums1 << EOD
1e-05 0
1.49946368 0
1.49946368 100
1.5 100
10 100
EOD
set label "up to, %" at screen 0.026786, screen 0.640000 center rotate front
set yrange [0:100]
set ytics 50
plot $sums0 with lines linewidth 1 linecolor rgb '#0072b2' notitle, $sums1 with lines linewidth 1 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.949405
set tmargin at screen 0.570753
set bmargin at screen 0.484731
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "sync: latency" at screen 0.095238, screen 0.579032 left front
set logscale x 10
set xrange [1e-05:10]
set xtics ("" 1e-05, "" 0.0001, "" 0.001, "" 0.01, "" 0.1, "" 1, "" 10)
set xrange [1e-05:10]
$bars0 << EOD
0.237137371 0
0.237137371 100
0.273841963 100
0.273841963 0
EOD
$bars1 << EOD
0.649381632 0
0.649381632 100
0.749894209 100
0.749894209 0
EOD
set arrow from 0.25, graph 0 to 0.25, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#0072b2' front
set label 'median 250 ms' at 0.25, graph 0.9125 right offset -0.5,0 textcolor rgb '#0072b2' front
set arrow from 0.75, graph 0 to 0.75, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#e69f00' front
set label 'median 750 ms' at 0.75, graph 0.7375 right offset -0.5,0 textcolor rgb '#e69f00' front
set yrange [0:100]
set ytics ("0" 0, "50" 50, "100" 100)
set label "% of calls" at screen 0.026786, screen 0.527742 center rotate front
plot $bars0 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#0072b2' notitle, $bars0 with lines linewidth 0.6 linecolor rgb '#0072b2' notitle, $bars1 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#e69f00' notitle, $bars1 with lines linewidth 0.6 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.949405
set tmargin at screen 0.467527
set bmargin at screen 0.422366
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set logscale x 10
set xrange [1e-05:10]
set xtics ("10 us" 1e-05, "100 us" 0.0001, "1 ms" 0.001, "10 ms" 0.01, "100 ms" 0.1, "1 s" 1, "10 s" 10)
set xrange [1e-05:10]
$sums0 << EOD
1e-05 0
0.249954304 0
0.249954304 100
0.25 100
10 100
EOD
$sums1 << EOD
1e-05 0
0.74973184 0
0.74973184 100
0.75 100
10 100
EOD
set label "up to, %" at screen 0.026786, screen 0.444946 center rotate front
set yrange [0:100]
set ytics 50
plot $sums0 with lines linewidth 1 linecolor rgb '#0072b2' notitle, $sums1 with lines linewidth 1 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.949405
set tmargin at screen 0.375699
set bmargin at screen 0.289677
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "block.read: latency" at screen 0.095238, screen 0.383978 left front
set logscale x 10
set xrange [1e-05:10]
set xtics ("" 1e-05, "" 0.0001, "" 0.001, "" 0.01, "" 0.1, "" 1, "" 10)
set xrange [1e-05:10]
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
0.000316227766 0
0.000365174127 6.66667
0.000421696503 3.33333
0.000486967525 6.66667
0.000562341325 3.33333
0.000649381632 10
0.000749894209 10
0.000865964323 6.66667
0.001 13.3333
0.00115478198 10
0.00133352143 16.6667
0.00153992653 13.3333
# 24 rows; sums 0.297914843 2953.33217 0 0 0 0
EOD
set arrow from 0.000289792, graph 0 to 0.000289792, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#0072b2' front
set label 'median 290 us' at 0.000289792, graph 0.9125 left offset 0.5,0 textcolor rgb '#0072b2' front
set arrow from 0.000869888, graph 0 to 0.000869888, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#e69f00' front
set label 'median 870 us' at 0.000869888, graph 0.7375 left offset 0.5,0 textcolor rgb '#e69f00' front
set yrange [0:20]
set ytics ("0" 0, "5" 5, "10" 10, "15" 15, "20" 20)
set label "% of calls" at screen 0.026786, screen 0.332688 center rotate front
plot $bars0 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#0072b2' notitle, $bars0 with lines linewidth 0.6 linecolor rgb '#0072b2' notitle, $bars1 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#e69f00' notitle, $bars1 with lines linewidth 0.6 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.949405
set tmargin at screen 0.272473
set bmargin at screen 0.227312
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set logscale x 10
set xrange [1e-05:10]
set xtics ("10 us" 1e-05, "100 us" 0.0001, "1 ms" 0.001, "10 ms" 0.01, "100 ms" 0.1, "1 s" 1, "10 s" 10)
set xrange [1e-05:10]
$sums0 << EOD
1e-05 0
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
# 63 rows; sums 630.716784 137016.668 0 0 0 0
EOD
$sums1 << EOD
1e-05 0
0.000389888 10
0.000509952 20
0.00062976 30
0.000749568 40
0.000869888 50
0.000989696 60
0.001108992 70
0.001229824 80
0.001349632 90
0.00146944 100
# 63 rows; sums 632.150152 137016.668 0 0 0 0
EOD
set label "up to, %" at screen 0.026786, screen 0.249892 center rotate front
set yrange [0:100]
set ytics 50
plot $sums0 with lines linewidth 1 linecolor rgb '#0072b2' notitle, $sums1 with lines linewidth 1 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.949405
set tmargin at screen 0.180645
set bmargin at screen 0.094624
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "block.write: latency" at screen 0.095238, screen 0.188925 left front
set logscale x 10
set xrange [1e-05:10]
set xtics ("" 1e-05, "" 0.0001, "" 0.001, "" 0.01, "" 0.1, "" 1, "" 10)
set xrange [1e-05:10]
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
0.000273841963 0
0.000316227766 0
0.000421696503 10
0.000486967525 10
0.000649381632 0
0.000749894209 10
0.001 10
0.00115478198 10
0.00153992653 10
# 26 rows; sums 0.336519878 3140 0 0 0 0
EOD
set arrow from 0.000259968, graph 0 to 0.000259968, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#0072b2' front
set label 'median 260 us' at 0.000259968, graph 0.9125 left offset 0.5,0 textcolor rgb '#0072b2' front
set arrow from 0.000779776, graph 0 to 0.000779776, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#e69f00' front
set label 'median 780 us' at 0.000779776, graph 0.7375 left offset 0.5,0 textcolor rgb '#e69f00' front
set yrange [0:20]
set ytics ("0" 0, "5" 5, "10" 10, "15" 15, "20" 20)
set label "% of calls" at screen 0.026786, screen 0.137634 center rotate front
plot $bars0 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#0072b2' notitle, $bars0 with lines linewidth 0.6 linecolor rgb '#0072b2' notitle, $bars1 with filledcurves closed fillstyle transparent solid 0.3 noborder fillcolor rgb '#e69f00' notitle, $bars1 with lines linewidth 0.6 linecolor rgb '#e69f00' notitle
reset
set lmargin at screen 0.095238
set rmargin at screen 0.949405
set tmargin at screen 0.077419
set bmargin at screen 0.032258
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set logscale x 10
set xrange [1e-05:10]
set xtics ("10 us" 1e-05, "100 us" 0.0001, "1 ms" 0.001, "10 ms" 0.01, "100 ms" 0.1, "1 s" 1, "10 s" 10)
set xrange [1e-05:10]
$sums0 << EOD
1e-05 0
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
10 100
# 23 rows; sums 230.087701 19350 0 0 0 0
EOD
$sums1 << EOD
1e-05 0
0.000299776 10
0.00041984 20
0.000539648 30
0.000659968 40
0.000779776 50
0.000899584 60
0.001019904 70
0.001139712 80
0.00125952 90
0.001379328 100
10 100
# 23 rows; sums 230.26309 19350 0 0 0 0
EOD
set label "up to, %" at screen 0.026786, screen 0.054839 center rotate front
set yrange [0:100]
set ytics 50
plot $sums0 with lines linewidth 1 linecolor rgb '#0072b2' notitle, $sums1 with lines linewidth 1 linecolor rgb '#e69f00' notitle
unset multiplot
