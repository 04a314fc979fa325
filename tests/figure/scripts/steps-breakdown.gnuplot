set terminal svg size 1000,566 dynamic font 'sans-serif,13' background 'white' noenhanced
set multiplot
reset
set lmargin at screen 0.067500
set rmargin at screen 0.868750
set tmargin at screen 0.901413
set bmargin at screen 0.530389
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "UNET3D, 4 files (MLLOG)" at screen 0.067500, screen 0.968198 left front
set label "mean time of a step" at screen 0.468125, screen 0.923675 center front
$bars << EOD
0 0 0.0221666667 0.02725 0.02725 0.0590833333 0.0650833333 0.12725 0.135166667 0.14225 0.14225
1 0 0.0387916667 0.0476875 0.0476875 0.103395833 0.113895833 0.2226875 0.236541667 0.2489375 0.2489375
2.7 0 0.0249375 0.03065625 0.03065625 0.06646875 0.07321875 0.14315625 0.1520625 0.16003125 0.16003125
3.7 0 0.144083333 0.177125 0.177125 0.384041667 0.423041667 0.827125 0.878583333 0.924625 0.924625
EOD
set xrange [-0.65:4.35]
set xtics scale 0 ('' 0, '' 1, '' 2.7, '' 3.7)
set grid noxtics
set yrange [0:1]
set ytics ("0" 0, "200 ms" 0.2, "400 ms" 0.4, "600 ms" 0.6, "800 ms" 0.8, "1 s" 1)
set key at screen 0.888000, screen 0.901413 left top Left reverse samplen 1
set style fill solid 1 noborder
plot $bars using 1:10:($1-0.4):($1+0.4):9:10 with boxxyerror fillcolor rgb '#cc79a7' title "barrier", $bars using 1:9:($1-0.4):($1+0.4):8:9 with boxxyerror fillcolor rgb '#d55e00' title "optimizer", $bars using 1:8:($1-0.4):($1+0.4):7:8 with boxxyerror fillcolor rgb '#e69f00' title "backward", $bars using 1:7:($1-0.4):($1+0.4):6:7 with boxxyerror fillcolor rgb '#b8a900' title "loss", $bars using 1:6:($1-0.4):($1+0.4):5:6 with boxxyerror fillcolor rgb '#009e73' title "forward", $bars using 1:4:($1-0.4):($1+0.4):3:4 with boxxyerror fillcolor rgb '#56b4e9' title "copy", $bars using 1:3:($1-0.4):($1+0.4):2:3 with boxxyerror fillcolor rgb '#0072b2' title "loading"
reset
set lmargin at screen 0.067500
set rmargin at screen 0.868750
set tmargin at screen 0.460424
set bmargin at screen 0.089399
set border 3 linecolor rgb '#444444'
set tics nomirror out scale 0.5 textcolor rgb 'black'
set grid xtics ytics linecolor rgb '#dddddd' linewidth 0.7 dashtype 1
set datafile missing '?'
unset key
set label "shares of a step, %" at screen 0.468125, screen 0.482686 center front
$bars << EOD
0 0 15.582894 19.1564148 19.1564148 41.5348565 45.7527827 89.4551845 95.0205038 100 100
1 0 15.582894 19.1564148 19.1564148 41.5348565 45.7527827 89.4551845 95.0205038 100 100
2.7 0 15.582894 19.1564148 19.1564148 41.5348565 45.7527827 89.4551845 95.0205038 100 100
3.7 0 15.582894 19.1564148 19.1564148 41.5348565 45.7527827 89.4551845 95.0205038 100 100
EOD
set xrange [-0.65:4.35]
set xtics scale 0 ('1' 0, '2' 1, '1' 2.7, '8' 3.7)
set grid noxtics
set label '1 GPU' at first 0.5, graph -0.162857 center front
set label '2 GPUs' at first 3.2, graph -0.162857 center front
set yrange [0:100]
set ytics ("0" 0, "20" 20, "40" 40, "60" 60, "80" 80, "100" 100)
set style fill solid 1 noborder
plot $bars using 1:10:($1-0.4):($1+0.4):9:10 with boxxyerror fillcolor rgb '#cc79a7' notitle, $bars using 1:9:($1-0.4):($1+0.4):8:9 with boxxyerror fillcolor rgb '#d55e00' notitle, $bars using 1:8:($1-0.4):($1+0.4):7:8 with boxxyerror fillcolor rgb '#e69f00' notitle, $bars using 1:7:($1-0.4):($1+0.4):6:7 with boxxyerror fillcolor rgb '#b8a900' notitle, $bars using 1:6:($1-0.4):($1+0.4):5:6 with boxxyerror fillcolor rgb '#009e73' notitle, $bars using 1:4:($1-0.4):($1+0.4):3:4 with boxxyerror fillcolor rgb '#56b4e9' notitle, $bars using 1:3:($1-0.4):($1+0.4):2:3 with boxxyerror fillcolor rgb '#0072b2' notitle
unset multiplot
