"""The breakdowns of `tilemark analyze` as SQL, in DuckDB over the same Parquet.

What SQL has no short way for is left out, in DuckDB's favour: miss-ratio curves, tiers, small I/O
beside large I/O, the closest of the previous 16, and reads and writes in flight apart.
"""

import sys
import time

import duckdb

trace, threads = sys.argv[1], int(sys.argv[2])
db = duckdb.connect()
db.execute(f"SET threads = {threads}")
db.execute("SET memory_limit = '8GB'")
# Not the working directory, which is the default of a database in memory.
db.execute(f"SET temp_directory = '{trace}.duckdb'")
db.execute("SET preserve_insertion_order = false")
IO = f"""(
    SELECT *, coalesce(queue_ns, 0) + device_ns AS latency_ns,
        CASE WHEN length_bytes < 4096 THEN 0
             ELSE least(floor(log2(length_bytes))::INT - 11, 7) END AS class
    FROM read_parquet('{trace}/*.parquet') WHERE operation IN ('read', 'write')
)"""
QUANTILES = "approx_quantile(latency_ns, [0.5, 0.95, 0.99])"
LENGTHS = "[512,1024,2048,4095,4096,8191,8192,16383,16384,32768,49152,65535,65536,81920,131072,262144,524288]"
SEEKS = "[-500000,-100000,-50000,-10000,-5000,-1000,-500,-128,-64,-32,-16,-8,-6,-4,-2,-1,0,1,2,4,6,8,16,32,64,128,500,1000,5000,10000,50000,100000,500000]"
TIMES = "[1,10,100,500,1000,5000,15000,30000,50000,100000]"
DEPTHS = "[1,2,4,6,8,12,16,20,24,28,32,64]"


def seek(partition):
    return f"""
        SELECT vm, device, operation, histogram(distance, {SEEKS}), histogram(gap_us, {TIMES}) FROM (
            SELECT vm, device, operation,
                offset_bytes // 512 - lag((offset_bytes + length_bytes - 1) // 512) OVER w AS distance,
                (issue_ns - lag(issue_ns) OVER w) // 1000 AS gap_us
            FROM {IO} WINDOW w AS (PARTITION BY {partition} ORDER BY issue_ns)
        ) GROUP BY ALL"""


QUERIES = [
    # Sizes, and what made it slow.
    f"""SELECT vm, operation, class, count(*), sum(length_bytes), sum(latency_ns), max(latency_ns),
        {QUANTILES}, count(*) FILTER (sequential) FROM {IO} GROUP BY ALL""",
    # Over time.
    f"""SELECT issue_ns // 1000000000 AS second, vm, operation, class, count(*), sum(length_bytes),
        sum(latency_ns), max(latency_ns), {QUANTILES} FROM {IO} GROUP BY ALL""",
    # The matrices.
    f"SELECT vm, operation, class, floor(4 * log10(latency_ns + 1)), count(*) FROM {IO} GROUP BY ALL",
    f"""SELECT vm, operation, class, floor(log2(outstanding + 1)), count(*), {QUANTILES}
        FROM {IO} GROUP BY ALL""",
    # Histograms of single I/Os.
    f"""SELECT vm, device, operation, histogram(length_bytes, {LENGTHS}),
        histogram(latency_ns // 1000, {TIMES}), histogram(outstanding + 1, {DEPTHS}),
        min(length_bytes), max(length_bytes), avg(length_bytes) FROM {IO} GROUP BY ALL""",
    # Histograms of successive I/Os, of all and of each direction.
    seek("vm, device"),
    seek("vm, device, operation"),
    # Alignment and bursts.
    f"SELECT vm, operation, offset_bytes // 512 % 8, count(*) FROM {IO} GROUP BY ALL",
    f"""SELECT vm, max(n) FROM (SELECT vm, issue_ns // 100000000 AS tick, count(*) AS n
        FROM {IO} GROUP BY ALL) GROUP BY ALL""",
    # Different pages of 64 KiB that I/Os begin in, by minute, hour and in all.
    f"""SELECT vm, issue_ns // 60000000000, approx_count_distinct((device, offset_bytes // 65536))
        FROM {IO} GROUP BY ALL""",
    f"SELECT vm, approx_count_distinct((device, offset_bytes // 65536)) FROM {IO} GROUP BY ALL",
]
start = time.monotonic()
for query in QUERIES:
    before = time.monotonic()
    rows = len(db.execute(query).fetchall())
    print(f"{time.monotonic() - before:.1f} s, {rows} rows", file=sys.stderr)
print(time.monotonic() - start)
