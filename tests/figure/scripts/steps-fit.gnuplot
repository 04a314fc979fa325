set terminal svg size 1000,379 dynamic font 'sans-serif,13' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.067500
set rmargin at screen 0.428750
set tmargin at screen 0.805277
set bmargin at screen 0.119261
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "UNET3D, 4 files (MLLOG)" at screen 0.067500, screen 0.952507 left front
set label "mean of computing, R² 1.0000" at screen 0.248125, screen 0.881266 center front
set label "0.0151 × GPUs + 0.0858 × batch + 0.00993 s" at screen 0.248125, screen 0.833773 center front
$g0 << EOD
1 0.111833333 0.110854792
2 0.195708333 0.196686875
EOD
$g1 << EOD
1 0.1258125 0.125952292
8 0.726916667 0.726776875
EOD
set xrange [0.58:8.42]
set xtics ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.248125, screen 0.017150 center front
set yrange [0:0.8]
set ytics ("0" 0, "200 ms" 0.2, "400 ms" 0.4, "600 ms" 0.6, "800 ms" 0.8)
set key at screen 0.888000, screen 0.805277 left top Left reverse samplen 1
plot $g0 using 1:3 with lines linecolor rgb '#0072b2' linewidth 1.4 notitle, $g0 using 1:2 with points linecolor rgb '#0072b2' pointtype 7 pointsize 0.6 title "1 GPU", $g1 using 1:3 with lines linecolor rgb '#e69f00' linewidth 1.4 notitle, $g1 using 1:2 with points linecolor rgb '#e69f00' pointtype 7 pointsize 0.6 title "2 GPUs"
reset
set lmargin at screen 0.507500
set rmargin at screen 0.868750
set tmargin at screen 0.805277
set bmargin at screen 0.119261
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "deviation of computing, R² 1.0000" at screen 0.688125, screen 0.881266 center front
set label "0.00019 × GPUs + 0.00108 × batch + 0.000125 s" at screen 0.688125, screen 0.833773 center front
$g0 << EOD
1 0.0014043583 0.00139207016
2 0.00245762702 0.00246991515
EOD
$g1 << EOD
1 0.00157990308 0.00158165853
8 0.00912832892 0.00912657347
EOD
set xrange [0.58:8.42]
set xtics ('1' 1, '2' 2, '8' 8)
set label "batch" at screen 0.688125, screen 0.017150 center front
set yrange [0:0.01]
set ytics ("0" 0, "2 ms" 0.002, "4 ms" 0.004, "6 ms" 0.006, "8 ms" 0.008, "10 ms" 0.01)
plot $g0 using 1:3 with lines linecolor rgb '#0072b2' linewidth 1.4 notitle, $g0 using 1:2 with points linecolor rgb '#0072b2' pointtype 7 pointsize 0.6 notitle, $g1 using 1:3 with lines linecolor rgb '#e69f00' linewidth 1.4 notitle, $g1 using 1:2 with points linecolor rgb '#e69f00' pointtype 7 pointsize 0.6 notitle
unset multiplot
