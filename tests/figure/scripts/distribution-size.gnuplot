set terminal svg size 1000,1288 dynamic font 'sans-serif,13' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0
set rmargin at screen 1
set tmargin at screen 1
set bmargin at screen 0
unset border
unset tics
unset key
set xrange [0:1]
set yrange [0:1]
set label "run.db" at screen 0.064000, screen 0.988820 left front
plot NaN
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
set label "read: size of 40" at screen 0.064000, screen 0.971351 left front
set logscale x 2
set xrange [4096:16777216]
set xtics ("" 4096, "" 8192, "" 16384, "" 32768, "" 65536, "" 131072, "" 262144, "" 524288, "" 1048576, "" 2097152, "" 4194304, "" 8388608, "" 16777216)
set xrange [4096:16777216]
$bars0 << EOD
4096 0
4870.99234 17.5
8192 0
9741.98469 17.5
16384 0
19483.9694 17.5
32768 0
38967.9387 17.5
65536 0
77935.8775 15
131072 0
155871.755 15
# 24 rows; sums 21430123.8 2420 0 0 0 0
EOD
set arrow from 16384, graph 0 to 16384, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#444444' front
set label 'median 16 KiB' at 16384, graph 0.9250 left offset 0.5,0 textcolor rgb '#444444' front
set yrange [0:20]
set ytics ("0" 0, "5" 5, "10" 10, "15" 15, "20" 20)
set label "% of calls" at screen 0.018000, screen 0.917081 center rotate front
plot $bars0 with filledcurves closed fillstyle transparent solid 0.6 noborder fillcolor rgb '#1e90ff' notitle, $bars0 with lines linewidth 0.84 linecolor rgb '#1e90ff' notitle
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
set logscale x 2
set xrange [4096:16777216]
set xtics ("4 KiB" 4096, "8 KiB" 8192, "16 KiB" 16384, "32 KiB" 32768, "64 KiB" 65536, "128 KiB" 131072, "256 KiB" 262144, "512 KiB" 524288, "1 MiB" 1048576, "2 MiB" 2097152, "4 MiB" 4194304, "8 MiB" 8388608, "16 MiB" 16777216)
set xrange [4096:16777216]
$sums0 << EOD
4096 0
4096 17.5
8192 35
16384 52.5
32768 70
65536 85
131072 100
16777216 100
# 15 rows; sums 259014656 8780 0 0 0 0
EOD
set label "up to, %" at screen 0.018000, screen 0.834783 center rotate front
set yrange [0:100]
set ytics 50
plot $sums0 with lines linewidth 1.4 linecolor rgb '#1e90ff' notitle
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
set label "write: size of 1" at screen 0.064000, screen 0.775854 left front
set logscale x 2
set xrange [4096:16777216]
set xtics ("" 4096, "" 8192, "" 16384, "" 32768, "" 65536, "" 131072, "" 262144, "" 524288, "" 1048576, "" 2097152, "" 4194304, "" 8388608, "" 16777216)
set xrange [4096:16777216]
$bars0 << EOD
8388608 0
8388608 100
9975792.32 100
9975792.32 0
EOD
set arrow from 8388608, graph 0 to 8388608, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#444444' front
set label 'median 8 MiB' at 8388608, graph 0.9250 right offset -0.5,0 textcolor rgb '#444444' front
set yrange [0:100]
set ytics ("0" 0, "50" 50, "100" 100)
set label "% of calls" at screen 0.018000, screen 0.721584 center rotate front
plot $bars0 with filledcurves closed fillstyle transparent solid 0.6 noborder fillcolor rgb '#ff0000' notitle, $bars0 with lines linewidth 0.84 linecolor rgb '#ff0000' notitle
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
set logscale x 2
set xrange [4096:16777216]
set xtics ("4 KiB" 4096, "8 KiB" 8192, "16 KiB" 16384, "32 KiB" 32768, "64 KiB" 65536, "128 KiB" 131072, "256 KiB" 262144, "512 KiB" 524288, "1 MiB" 1048576, "2 MiB" 2097152, "4 MiB" 4194304, "8 MiB" 8388608, "16 MiB" 16777216)
set xrange [4096:16777216]
$sums0 << EOD
4096 0
8388608 0
8388608 100
8388608 100
16777216 100
EOD
set label "up to, %" at screen 0.018000, screen 0.639286 center rotate front
set yrange [0:100]
set ytics 50
plot $sums0 with lines linewidth 1.4 linecolor rgb '#ff0000' notitle
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
set label "sync: size of 0" at screen 0.064000, screen 0.580357 left front
set logscale x 2
set xrange [4096:16777216]
set xtics ("" 4096, "" 8192, "" 16384, "" 32768, "" 65536, "" 131072, "" 262144, "" 524288, "" 1048576, "" 2097152, "" 4194304, "" 8388608, "" 16777216)
set xrange [4096:16777216]
$bars0 << EOD
1 0
EOD
set yrange [0:1]
set ytics ("0" 0, "0.5" 0.5, "1" 1)
set label "% of calls" at screen 0.018000, screen 0.526087 center rotate front
plot $bars0 with filledcurves closed fillstyle transparent solid 0.6 noborder fillcolor rgb '#808080' notitle, $bars0 with lines linewidth 0.84 linecolor rgb '#808080' notitle
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
set logscale x 2
set xrange [4096:16777216]
set xtics ("4 KiB" 4096, "8 KiB" 8192, "16 KiB" 16384, "32 KiB" 32768, "64 KiB" 65536, "128 KiB" 131072, "256 KiB" 262144, "512 KiB" 524288, "1 MiB" 1048576, "2 MiB" 2097152, "4 MiB" 4194304, "8 MiB" 8388608, "16 MiB" 16777216)
set xrange [4096:16777216]
$sums0 << EOD
4096 0
4096 0
16777216 0
EOD
set label "up to, %" at screen 0.018000, screen 0.443789 center rotate front
set yrange [0:100]
set ytics 50
plot $sums0 with lines linewidth 1.4 linecolor rgb '#808080' notitle
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
set label "block.read: size of 30" at screen 0.064000, screen 0.384860 left front
set logscale x 2
set xrange [4096:16777216]
set xtics ("" 4096, "" 8192, "" 16384, "" 32768, "" 65536, "" 131072, "" 262144, "" 524288, "" 1048576, "" 2097152, "" 4194304, "" 8388608, "" 16777216)
set xrange [4096:16777216]
$bars0 << EOD
4096 0
4096 33.3333
4870.99234 33.3333
4870.99234 0
8192 0
8192 33.3333
9741.98469 33.3333
9741.98469 0
16384 0
16384 33.3333
19483.9694 33.3333
19483.9694 0
EOD
set arrow from 8192, graph 0 to 8192, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#444444' front
set label 'median 8 KiB' at 8192, graph 0.9250 left offset 0.5,0 textcolor rgb '#444444' front
set yrange [0:40]
set ytics ("0" 0, "10" 10, "20" 20, "30" 30, "40" 40)
set label "% of calls" at screen 0.018000, screen 0.330590 center rotate front
plot $bars0 with filledcurves closed fillstyle transparent solid 0.6 noborder fillcolor rgb '#0000a0' notitle, $bars0 with lines linewidth 0.84 linecolor rgb '#0000a0' notitle
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
set logscale x 2
set xrange [4096:16777216]
set xtics ("4 KiB" 4096, "8 KiB" 8192, "16 KiB" 16384, "32 KiB" 32768, "64 KiB" 65536, "128 KiB" 131072, "256 KiB" 262144, "512 KiB" 524288, "1 MiB" 1048576, "2 MiB" 2097152, "4 MiB" 4194304, "8 MiB" 8388608, "16 MiB" 16777216)
set xrange [4096:16777216]
$sums0 << EOD
4096 0
4096 0
4096 33.3333
8192 33.3333
8192 66.6667
16384 66.6667
16384 100
16384 100
16777216 100
EOD
set label "up to, %" at screen 0.018000, screen 0.248292 center rotate front
set yrange [0:100]
set ytics 50
plot $sums0 with lines linewidth 1.4 linecolor rgb '#0000a0' notitle
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
set label "block.write: size of 10" at screen 0.064000, screen 0.189363 left front
set logscale x 2
set xrange [4096:16777216]
set xtics ("" 4096, "" 8192, "" 16384, "" 32768, "" 65536, "" 131072, "" 262144, "" 524288, "" 1048576, "" 2097152, "" 4194304, "" 8388608, "" 16777216)
set xrange [4096:16777216]
$bars0 << EOD
4096 0
4096 40
4870.99234 40
4870.99234 0
8192 0
8192 30
9741.98469 30
9741.98469 0
16384 0
16384 30
19483.9694 30
19483.9694 0
EOD
set arrow from 8192, graph 0 to 8192, graph 1 nohead dashtype 2 linewidth 1 linecolor rgb '#444444' front
set label 'median 8 KiB' at 8192, graph 0.9250 left offset 0.5,0 textcolor rgb '#444444' front
set yrange [0:40]
set ytics ("0" 0, "10" 10, "20" 20, "30" 30, "40" 40)
set label "% of calls" at screen 0.018000, screen 0.135093 center rotate front
plot $bars0 with filledcurves closed fillstyle transparent solid 0.6 noborder fillcolor rgb '#660033' notitle, $bars0 with lines linewidth 0.84 linecolor rgb '#660033' notitle
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
set logscale x 2
set xrange [4096:16777216]
set xtics ("4 KiB" 4096, "8 KiB" 8192, "16 KiB" 16384, "32 KiB" 32768, "64 KiB" 65536, "128 KiB" 131072, "256 KiB" 262144, "512 KiB" 524288, "1 MiB" 1048576, "2 MiB" 2097152, "4 MiB" 4194304, "8 MiB" 8388608, "16 MiB" 16777216)
set xrange [4096:16777216]
$sums0 << EOD
4096 0
4096 0
4096 40
8192 40
8192 70
16384 70
16384 100
16384 100
16777216 100
EOD
set label "up to, %" at screen 0.018000, screen 0.052795 center rotate front
set yrange [0:100]
set ytics 50
plot $sums0 with lines linewidth 1.4 linecolor rgb '#660033' notitle
unset multiplot
