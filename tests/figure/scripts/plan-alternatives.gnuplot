set terminal svg size 1000,192 dynamic font 'sans-serif,13' background 'white' noenhanced
set xlabel "seconds of an iteration"
set border 3
set tics nomirror out
set key outside above horizontal maxcols 4 left Left reverse samplen 1
set title "iteration 36.00 s, at most 99 % from the optimum"
set ytics ("tp 2 cp 1 ep 1 pp 3 dp 1, mbs 2 vp 1" 0, "tp 2 cp 1 ep 1 pp 4 dp 1, mbs 4 vp 3" 1)
set yrange [1.7:-0.7]
$bars << EOD
0 21 0.0 0x0072b2
21 31 0.0 0xcccccc
31 36 0.0 0xe69f00
0 20 1.0 0x0072b2
20 25 1.0 0xcccccc
25 40 1.0 0xe69f00
EOD
set xrange [0:*]
plot $bars using 1:3:1:2:($3-0.38):($3+0.38):4 with boxxyerror fillstyle solid noborder linecolor rgb variable notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#0072b2' title "compute", NaN with boxes fillstyle solid noborder linecolor rgb '#cccccc' title "bubble", NaN with boxes fillstyle solid noborder linecolor rgb '#e69f00' title "tensor"
