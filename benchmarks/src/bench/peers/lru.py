"""References a second of CPU that libCacheSim's LRU takes from a trace, and its miss ratio; the
first pass warms up. Usage: lru.py TRACE PAGES"""

import statistics
import sys
import time

import libcachesim as lcs

trace, pages = sys.argv[1], int(sys.argv[2])
params = lcs.ReaderInitParam(ignore_obj_size=True)
cache = lcs.LRU(cache_size=pages)
rates, misses = [], 0.0
for _ in range(6):
    reader = lcs.TraceReader(
        trace=trace, trace_type=lcs.TraceType.ORACLE_GENERAL_TRACE, reader_init_params=params
    )
    begun = time.process_time()
    misses, _ = cache.process_trace(reader)
    rates.append(reader.get_num_of_req() / (time.process_time() - begun))
print(f"{statistics.median(rates[1:]):.0f} {misses:.4f}")
