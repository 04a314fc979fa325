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
set label "read: time from one to the next" at screen 0.064000, screen 0.971351 left front
set logscale x 10
set xrange [0.1:10]
set xtics ("" 0.1, "" 1, "" 10)
set xrange [0.1:10]
$bars0 << EOD
0.237137371 0
0.237137371 100
0.273841963 100
0.273841963 0
EOD
$bars1 << EOD
0.237137371 0
0.237137371 100
0.273841963 100
0.273841963 0
EOD
set arrow from 0.25, graph 0 to 0.25, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#0072b2' front
set label 'median 250 ms' at 0.25, graph 0.9250 left offset 0.5,0 textcolor rgb '#0072b2' front
set arrow from 0.25, graph 0 to 0.25, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#e69f00' front
set label 'median 250 ms' at 0.25, graph 0.7750 left offset 0.5,0 textcolor rgb '#e69f00' front
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
set xrange [0.1:10]
set xtics ("100 ms" 0.1, "1 s" 1, "10 s" 10)
set xrange [0.1:10]
$sums0 << EOD
0.1 0
0.249954304 0
0.249954304 100
0.25 100
10 100
EOD
$sums1 << EOD
0.1 0
0.249954304 0
0.249954304 100
0.25 100
10 100
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
set label "write: time from one to the next" at screen 0.064000, screen 0.775854 left front
set logscale x 10
set xrange [0.1:10]
set xtics ("" 0.1, "" 1, "" 10)
set xrange [0.1:10]
$bars0 << EOD
1 0
EOD
$bars1 << EOD
1 0
EOD
set yrange [0:1]
set ytics ("0" 0, "0.5" 0.5, "1" 1)
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
set xrange [0.1:10]
set xtics ("100 ms" 0.1, "1 s" 1, "10 s" 10)
set xrange [0.1:10]
$sums0 << EOD
0.1 0
0.1 0
10 0
EOD
$sums1 << EOD
0.1 0
0.1 0
10 0
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
set label "sync: time from one to the next" at screen 0.064000, screen 0.580357 left front
set logscale x 10
set xrange [0.1:10]
set xtics ("" 0.1, "" 1, "" 10)
set xrange [0.1:10]
$bars0 << EOD
1 0
EOD
$bars1 << EOD
1 0
EOD
set yrange [0:1]
set ytics ("0" 0, "0.5" 0.5, "1" 1)
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
set xrange [0.1:10]
set xtics ("100 ms" 0.1, "1 s" 1, "10 s" 10)
set xrange [0.1:10]
$sums0 << EOD
0.1 0
0.1 0
10 0
EOD
$sums1 << EOD
0.1 0
0.1 0
10 0
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
set label "block.read: time from one to the next" at screen 0.064000, screen 0.384860 left front
set logscale x 10
set xrange [0.1:10]
set xtics ("" 0.1, "" 1, "" 10)
set xrange [0.1:10]
$bars0 << EOD
0.237137371 0
0.237137371 68.9655
0.273841963 68.9655
0.273841963 0
0.486967525 0
0.486967525 31.0345
0.562341325 31.0345
0.562341325 0
EOD
$bars1 << EOD
0.237137371 0
0.237137371 68.9655
0.273841963 68.9655
0.273841963 0
0.486967525 0
0.486967525 31.0345
0.562341325 31.0345
0.562341325 0
EOD
set arrow from 0.25, graph 0 to 0.25, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#0072b2' front
set label 'median 250 ms' at 0.25, graph 0.9250 left offset 0.5,0 textcolor rgb '#0072b2' front
set arrow from 0.25, graph 0 to 0.25, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#e69f00' front
set label 'median 250 ms' at 0.25, graph 0.7750 left offset 0.5,0 textcolor rgb '#e69f00' front
set yrange [0:80]
set ytics ("0" 0, "20" 20, "40" 40, "60" 60, "80" 80)
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
set xrange [0.1:10]
set xtics ("100 ms" 0.1, "1 s" 1, "10 s" 10)
set xrange [0.1:10]
$sums0 << EOD
0.1 0
0.249954304 0
0.249954304 68.9655
0.499908608 68.9655
0.499908608 100
0.5 100
10 100
EOD
$sums1 << EOD
0.1 0
0.249954304 0
0.249954304 68.9655
0.499908608 68.9655
0.499908608 100
0.5 100
10 100
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
set label "block.write: time from one to the next" at screen 0.064000, screen 0.189363 left front
set logscale x 10
set xrange [0.1:10]
set xtics ("" 0.1, "" 1, "" 10)
set xrange [0.1:10]
$bars0 << EOD
0.865964323 0
0.865964323 100
1 100
1 0
EOD
$bars1 << EOD
0.865964323 0
0.865964323 100
1 100
1 0
EOD
set arrow from 1, graph 0 to 1, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#0072b2' front
set label 'median 1 s' at 1, graph 0.9250 left offset 0.5,0 textcolor rgb '#0072b2' front
set arrow from 1, graph 0 to 1, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#e69f00' front
set label 'median 1 s' at 1, graph 0.7750 left offset 0.5,0 textcolor rgb '#e69f00' front
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
set xrange [0.1:10]
set xtics ("100 ms" 0.1, "1 s" 1, "10 s" 10)
set xrange [0.1:10]
$sums0 << EOD
0.1 0
0.999817216 0
0.999817216 100
1 100
10 100
EOD
$sums1 << EOD
0.1 0
0.999817216 0
0.999817216 100
1 100
10 100
EOD
set label "up to, %" at screen 0.018000, screen 0.052795 center rotate front
set yrange [0:100]
set ytics 50
plot $sums0 with lines linewidth 1.4 linecolor rgb '#0072b2' notitle, $sums1 with lines linewidth 1.4 linecolor rgb '#e69f00' notitle
unset multiplot
