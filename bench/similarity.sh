# What bench_similarity and bench_memory_limit share: data that look real, runs that are traced, medians over pairs. Sourced by bash; the
# caller sets `program` and `folder`.

# real_data INTO COUNT BYTES MEAN DEVIATION: files whose sizes are log-normal; COUNT of them, or, where that is 0, until they hold BYTES.
# From a seed (Box and Muller; Park and Miller's minimal standard generator).
real_data()
{
    local into=$folder/$1 count=0 size
    [ ! -e "$into" ] || return 0
    awk -v n="$2" -v bytes="$3" -v mean="$4" -v deviation="$5" 'function uniform() { state = state * 16807 % 2147483647; return state / 2147483647 }
        BEGIN { state = 20; spread = sqrt(log(1 + (deviation / mean) ^ 2))
                for (i = 0; i < 100; i++) uniform()
                for (i = 0; n > 0 ? i < n : sum < bytes; i++) { radius = sqrt(-2 * log(uniform())); angle = 6.283185307 * uniform()
                    size = int(mean * exp(spread * radius * cos(angle) - spread ^ 2 / 2)); sum += size; print size } }' >"$folder/sizes"
    rm -rf "$into.part" && mkdir -p "$into.part/train"
    while read -r size; do
        "$program" dataset generate unet3d_h100 --seed $((count + 1)) -o "$folder/one" --set dataset.num_files_train=1 \
            --set dataset.record_length_bytes="$size" --set dataset.record_length_bytes_stdev=0 >/dev/null 2>&1
        mv "$folder"/one/train/* "$into.part/train/$count"
        rm -r "$folder/one"
        count=$((count + 1))
    done <"$folder/sizes"
    number_files "$into.part"
    mv "$into.part" "$into"
}

# Names files 0, 1, … as the reader expects them: img_07_of_60.npz.
number_files()
{
    local count i
    count=$(find "$1/train" -type f | wc -l)
    for ((i = 0; i < count; i++)); do
        mv "$1/train/$i" "$1/train/$(printf "img_%0${#count}d_of_%d.npz" $i "$count")"
    done
}

# record NAME cold|warm DATA COMMAND…: a trace of the command, after the data were dropped from the page cache or read into it.
record()
{
    local name=$1 cache=$2 data=$folder/$3 file
    shift 3
    [ ! -e "$folder/$name.db" ] || return 0
    for file in "$data"/train/*; do
        if [ "$cache" = warm ]; then cat "$file" >/dev/null; else dd of="$file" oflag=nocache conv=notrunc,fdatasync count=0 status=none; fi
    done
    # traced on the way and renamed: a run that is interrupted is recorded again
    "$program" trace --force -o "$folder/part.db" -- "$@" >/dev/null 2>"$folder/said" || { cat "$folder/said" >&2; exit 1; }
    mv "$folder/part.db" "$folder/$name.db"
}

# All pairs of repeats 1 to 3 of one or two kinds of run that were recorded: "A-1 B-2", …
pairs()
{
    local i j
    for i in 1 2 3; do
        for j in 1 2 3; do
            if { [ "$1" != "$2" ] || [ $i -lt $j ]; } && [ -e "$folder/$1-$i.db" ] && [ -e "$folder/$2-$j.db" ]; then
                echo "$1-$i $2-$j"
            fi
        done
    done
}

# Of pairs on standard input, one a line: how many, the median, the lowest and the highest similarity.
similarities()
{
    local a b
    while read -r a b; do
        "$program" compare --replicates 0 "$folder/$a.db" "$folder/$b.db" | awk 'NR == 1 {print $2}'
    done | sort -g | awk '{ value[NR] = $1 } END { if (NR) printf "%5d   %.3f   %.3f   %.3f", NR,
        NR % 2 ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2, value[1], value[NR] }'
}
