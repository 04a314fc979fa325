set terminal svg size 1000,218 dynamic font 'sans-serif,13' background 'white' noenhanced
set xlabel "ms per micro-batch; dark: forward, light: the rest, dashed: the slowest"
set border 3
set tics nomirror out
set key outside above horizontal maxcols 4 left Left reverse samplen 1
set title "iteration 500.0 ms, at most 20 % from the optimum"
set ytics ("2 x fast, layers 0-2" 0, "1 x slow, layer 3" 1, "4 x fast, layers 4-8" 2)
set yrange [2.7:-0.7]
$bars << EOD
0 1 0.0 0x0072b2
1 3 0.0 0x7fb8d8
0 2.5 1.0 0xe69f00
2.5 7.5 1.0 0xf2cf7f
0 3 2.0 0x0072b2
3 4 2.0 0x7fb8d8
EOD
set arrow from 7.5, graph 0 to 7.5, graph 1 nohead dashtype 2 linecolor rgb '#444444' front
set xrange [0:7.8]
plot $bars using 1:3:1:2:($3-0.38):($3+0.38):4 with boxxyerror fillstyle solid noborder linecolor rgb variable notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#0072b2' title "fast", NaN with boxes fillstyle solid noborder linecolor rgb '#e69f00' title "slow"
