set terminal svg size 760,640 dynamic font 'sans-serif,13' background 'white' noenhanced
set logscale xy
set grid lc rgb '#dddddd'
set key left top
set size square
set xlabel 'measured, seconds per iteration'
set ylabel 'predicted'
plot x with lines lc rgb '#555555' title 'no error', 1.15*x with lines dt 2 lc rgb '#aaaaaa' title '15 % off', x/1.15 with lines dt 2 lc rgb '#aaaaaa' notitle, '-' with points pt 7 ps 0.6 lc rgb '#0072b2' title "hopper", '-' with points pt 7 ps 0.6 lc rgb '#e69f00' title "ampere"
1 1.1
3 3.5
e
2 1.9
6 6
e
