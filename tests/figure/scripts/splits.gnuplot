set terminal svg size 960,218 dynamic font 'sans-serif,13' background 'white' noenhanced
set xlabel 'seconds of an iteration'
set border 3
set tics nomirror out
set key above horizontal maxcols 4 samplen 1
set title "llama-3-8b on 8 x h100-sxm: 36.00 s"
set ytics ("tp 1 cp 1 ep 1 pp 1 dp 8, mbs 1 vp 1" 0, "tp 2 cp 1 ep 1 pp 4 dp 1, mbs 4 vp 3" 1)
set yrange [1.7:-0.7]
$bars << EOD
0 1 0.0 0x0072b2
3 6 0.0 0xe69f00
10 15 0.0 0x009e73
21 36 0.0 0xd55e00
20 20 1.0 0xcccccc
20.5 20.75 1.0 0x56b4e9
28.75 29.75 1.0 0xcc79a7
# 14 rows; sums 1966.75 2583 77 978568373 0 0
EOD
set xrange [0:*]
plot $bars using 1:3:1:2:($3-0.38):($3+0.38):4 with boxxyerror fillstyle solid noborder linecolor rgb variable notitle, NaN with boxes fillstyle solid noborder linecolor rgb '#0072b2' title 'compute', NaN with boxes fillstyle solid noborder linecolor rgb '#cccccc' title 'bubble', NaN with boxes fillstyle solid noborder linecolor rgb '#e69f00' title 'tensor', NaN with boxes fillstyle solid noborder linecolor rgb '#56b4e9' title 'send', NaN with boxes fillstyle solid noborder linecolor rgb '#009e73' title 'data', NaN with boxes fillstyle solid noborder linecolor rgb '#cc79a7' title 'optimizer', NaN with boxes fillstyle solid noborder linecolor rgb '#d55e00' title 'other'
