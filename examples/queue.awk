# Cost of a queue: minutes that customers wait on average, plus what fast service costs.
# Lindley's recursion: who comes next waits as long as the one before, plus that one's service, less the time between them.
function exponential(mean) { return -mean * log(1 - rand()) }

BEGIN {
    srand(seed)
    customers = 3000
    for (i = 0; i < customers; i++) {
        total += wait
        wait += exponential(service) - exponential(gap)
        if (wait < 0) wait = 0
    }
    printf "%.6f\n", total / customers + 40 / service
}
