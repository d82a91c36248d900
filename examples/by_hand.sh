#!/bin/sh
# By hand, with a table that goes back and forth: ask writes the pulls that are wanted, the people fill in the column
# `reward`, tell reads it back. Repeat until nothing is asked any more.
set -eu
study=${1:-by_hand.toml}

while surefoot ask -n 100 --csv --study "$study" > todo.csv && [ -s todo.csv ]; do
    # Here people bake and taste. The script pretends to: columns are study, pull, arm, perturbation, heat, minutes, seed, reward.
    awk -F, -v OFS=, '
        NR == 1 { print; next }
        {
            srand($7 + 0)
            mark = 0.02 * $5 + 0.05 * $6
            for (i = 0; i < 12; i++) mark += 0.2 * (rand() - 0.5)
            $8 = mark
            print
        }' todo.csv > done.csv
    surefoot tell done.csv --study "$study"
done
surefoot status "$study"
