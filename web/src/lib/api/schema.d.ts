// Generated from docs/schemas/openapi.json by `npm run api:types`.

export interface paths {
    "/api/v1/runs": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Stored runs, newest first */
        get: operations["listRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Parts of a run that do not depend on the lens */
        get: operations["getRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/overview": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A view through a lens */
        get: operations["getOverview"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/series": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A view through a lens */
        get: operations["getSeries"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/actions": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A view through a lens */
        get: operations["getActions"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/calls": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A view through a lens */
        get: operations["getCalls"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/heatmap": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A view through a lens */
        get: operations["getHeatmap"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/percentiles": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A view through a lens */
        get: operations["getPercentiles"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/matrix": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A view through a lens */
        get: operations["getMatrix"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/breaks": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A view through a lens */
        get: operations["getBreaks"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/map": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A view through a lens */
        get: operations["getMap"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/moment": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A view through a lens */
        get: operations["getMoment"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/curve": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A view through a lens */
        get: operations["getCurve"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/tier": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A view through a lens */
        get: operations["getTier"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/machine": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A view through a lens */
        get: operations["getMachine"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/access": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A view through a lens */
        get: operations["getAccess"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/watch": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A view through a lens */
        get: operations["getWatch"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Events of the run */
        get: operations["listEvents"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/runs/{id}/live": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /**
         * State of the run, about once a second: events named state; the last one is named end
         * @description Server-sent events; the data of each is one LiveState. Of a run that has ended there is one event, end.
         */
        get: operations["watchRun"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/compare": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Run b compared with run a */
        get: operations["compareRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/trend": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Complete runs side by side, oldest first, each compared with the first */
        get: operations["trendRuns"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/studies": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** Own and shipped results of studies */
        get: operations["listStudies"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/studies/{name}": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** A study's claims, with published and own values */
        get: operations["getStudy"];
        put?: never;
        post?: never;
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /**
         * @description View `access`: bytes of the storage in use, the cache size that would hold them, and I/Os across
         *     pages or beside large I/O. It covers the whole trace, whatever the lens.
         */
        AccessPage: {
            /** @description Summary of the touched data, or the reason why it is unknown. */
            sentence: string;
            /** @description Findings, most important first. */
            findings: string[];
            /** @description Questions that this I/O cannot answer, with reasons. */
            cannot_say: components["schemas"]["Remark"][];
            /** @description Distinct bytes over windows of time, with the sum of all initiators first. */
            working_set: components["schemas"]["WorkingSetRow"][];
            /** @description Miss ratios of an LRU cache, by its size. */
            miss_ratio: components["schemas"]["MissRatioRow"][];
            /** @description Cache sizes above which more cache brings less. */
            knees: components["schemas"]["KneeRow"][];
            /** @description Requests that an acceleration tier would serve, by the tier's size. */
            tiers: components["schemas"]["TierRow"][];
            /** @description Offsets of I/Os from a 4 KiB boundary. */
            alignment: components["schemas"]["AlignmentRow"][];
            /** @description Small I/Os with and without a large I/O in flight on the device. */
            beside_large: components["schemas"]["BesideRow"][];
        };
        /** @description Results of one action. */
        ActionResult: {
            /** @description Name of the action. */
            action: string;
            /**
             * Format: uint64
             * @description Number of successful actions.
             */
            count: number;
            /**
             * Format: uint64
             * @description Number of actions with a failed I/O or call; they are not in the latencies.
             */
            errors: number;
            /**
             * Format: uint64
             * @description Number of intended starts that were dropped because the backlog was full.
             */
            dropped: number;
            /** @description Service time: from the first step to the last answer. */
            service: components["schemas"]["Latency"];
            /** @description Response time: from the intended start to the last answer. */
            response: components["schemas"]["Latency"];
        };
        /**
         * @description Time per I/O and call of one part, compared with all other parts. Each kind is compared with
         *     itself, so that parts with different shares of small and large I/Os are comparable. A part is a
         *     host with its I/Os and calls, or the time in which infrastructure operations ran, with the
         *     tiles' actions.
         */
        AgainstOthers: {
            /**
             * Format: uint64
             * @description Number of the part's samples whose kind other parts also have.
             */
            samples: number;
            /**
             * @description Mean time of the part, divided by the mean of the same mix with the other parts' times; 1 is
             *     equal.
             */
            times: components["schemas"]["Figure"];
            /**
             * @description Lower end of the confidence interval of `times`, from blocks of slices; absent with too few
             *     blocks.
             */
            low: components["schemas"]["Figure"];
            /**
             * @description Upper end of the confidence interval of `times`, from blocks of slices; absent with too few
             *     blocks.
             */
            high: components["schemas"]["Figure"];
        };
        /** @description I/Os by their offset from a 4 KiB boundary. */
        AlignmentRow: {
            /** @description Name of the VM, or `all`. */
            vm: string;
            /** @description Direction: `read` or `write`. */
            direction: string;
            /**
             * Format: uint64
             * @description First sector (512 B) modulo 8; 0 is aligned.
             */
            sector_mod_8: number;
            /**
             * Format: uint64
             * @description Number of I/Os.
             */
            count: number;
            /**
             * Format: double
             * @description Share of the VM's I/Os of this direction.
             */
            share: number;
        };
        /** @description Answer of the run. A score is never shown alone: the verdict is beside it. */
        Answer: {
            /** @description State of the answer. */
            status: components["schemas"]["Status"];
            /**
             * Format: uint32
             * @description Maximum number of tiles at which all limits are met; null if unknown.
             */
            tiles_held: number | null;
            /**
             * Format: uint32
             * @description Number of virtual machines in `tiles_held` tiles.
             */
            vms_held: number | null;
            /** @description Confidence interval of the maximum number of tiles; null if nothing was decided. */
            tiles_interval?: components["schemas"]["TilesInterval"] | null;
            /**
             * Format: uint32
             * @description Largest number of tiles that could have been tried. It is bounded by the number asked for,
             *     by the room, and by the memory for users. Absent in runs of earlier versions.
             */
            tiles_max?: number | null;
            /**
             * @description Room of the datastore, as a number of tiles of full size; null if the disks had full size,
             *     or if the room is unknown.
             */
            capacity?: components["schemas"]["Capacity"] | null;
            /** @description Reason for the end of the search. */
            edge: components["schemas"]["Edge"];
            /**
             * @description Answer in a sentence that a person can quote, for readers without this program. It is made
             *     from the other fields; this program reads those instead ([`super::Run::sentence`]).
             */
            sentence: string;
            /** @description First limit that was exceeded one step above `tiles_held`; null if none was. */
            first_broken: components["schemas"]["BrokenLimit"] | null;
            /**
             * @description Resource at its limit in the failed step, or in the step that held if none failed. Absent in
             *     runs of earlier versions.
             */
            bottleneck?: components["schemas"]["Bottleneck"] | null;
            /** @description Score at `tiles_held`, in tiles' worth of work. */
            score: components["schemas"]["Figure"];
            /** @description Confidence interval of the score; null without one. */
            score_interval: components["schemas"]["Interval"] | null;
            /** @description Score per kilowatt at `tiles_held`; empty without a meter. */
            per_kilowatt?: components["schemas"]["PerKilowatt"][];
            /** @description Progress of the run, in words: `5 runs of 3 tile counts, 2 passed; interrupted`. */
            progress: string;
            /**
             * @description Progress of the search, from which `progress` is written; absent in runs of earlier
             *     versions.
             */
            climb?: components["schemas"]["ClimbFacts"] | null;
        };
        /** @description Small I/Os (below 32 KiB) without and with a large I/O (64 KiB and above) in flight. */
        BesideRow: {
            /** @description Name of the VM, or `all`. */
            vm: string;
            /** @description Direction: `read` or `write`. */
            direction: string;
            /**
             * Format: uint64
             * @description Small I/Os issued without a large I/O in flight.
             */
            alone_count: number;
            /**
             * Format: uint64
             * @description Median latency of the I/Os in `alone_count`, nanoseconds.
             */
            alone_p50_ns: number | null;
            /**
             * Format: uint64
             * @description 99th percentile of the I/Os in `alone_count`, nanoseconds.
             */
            alone_p99_ns: number | null;
            /**
             * Format: uint64
             * @description Small I/Os issued while a large I/O was in flight on the device.
             */
            beside_count: number;
            /**
             * Format: uint64
             * @description Median latency of the I/Os in `beside_count`, nanoseconds.
             */
            beside_p50_ns: number | null;
            /**
             * Format: uint64
             * @description 99th percentile of the I/Os in `beside_count`, nanoseconds.
             */
            beside_p99_ns: number | null;
        };
        /** @description Resource that was at its limit, or closest to it. */
        Bottleneck: {
            /** @description Kind of the resource; `none-seen` if no observed resource was at its limit. */
            kind: components["schemas"]["Resource"];
            /**
             * @description Name of the resource: `pool lun1 disks`, `host-3`, `sda`. With `none-seen`, the resource
             *     closest to its limit; empty if none could be observed.
             */
            name: string;
            /**
             * Format: double
             * @description Used share of the resource, 0 to 1; null without one.
             */
            utilisation: number | null;
            /** @description Description of the finding. */
            text: string;
            /** @description Source of the numbers, and the threshold to which they were compared. */
            source: string;
        };
        /** @description Limit that was exceeded, with its tile and workload. */
        BrokenLimit: {
            /**
             * Format: uint32
             * @description Number of tiles in the step that failed.
             */
            tiles: number;
            /**
             * Format: uint32
             * @description Repeat of the step, from 1.
             */
            repeat: number;
            /**
             * Format: uint32
             * @description Tile, from 0; null for a limit of infrastructure operations.
             */
            tile: number | null;
            /** @description Name of the workload. */
            workload: string;
            /**
             * Format: uint32
             * @description Number among the copies of this workload in the tile, from 0.
             */
            copy: number;
            /** @description Limit and measured value. */
            limit: components["schemas"]["LimitResult"];
        };
        /** @description Calls that failed for one reason. */
        CallErrors: {
            /** @description Reason: `refused`, `timed-out`, `closed`, `status` or `protocol`. */
            error: string;
            /**
             * Format: uint64
             * @description Number of failed calls.
             */
            count: number;
        };
        /** @description All calls of one kind of one workload in the measured time, summed over all tiles. */
        CallTotal: {
            /** @description Name of the workload. */
            workload: string;
            /** @description Kind of call, as the workload names it. A kind has one endpoint. */
            kind: string;
            /**
             * Format: uint64
             * @description Number of successful calls.
             */
            count: number;
            /** @description Failed calls by reason; empty if none failed. Failed calls have no latency. */
            errors?: components["schemas"]["CallErrors"][];
            /**
             * Format: uint64
             * @description Bytes of successful answers.
             */
            bytes: number;
            /**
             * Format: double
             * @description Successful calls per second.
             */
            calls_per_s: number;
            /** @description Service time: from the call to its answer. */
            service: components["schemas"]["Latency"];
            /** @description Response time: from the intended start to the answer. */
            response: components["schemas"]["Latency"];
        };
        /** @description Room for disks of full size, for a run that measured smaller disks. */
        Capacity: {
            /**
             * Format: uint32
             * @description Number of tiles of full size that fit.
             */
            tiles: number;
            /**
             * Format: uint64
             * @description Bytes that one tile of full size needs.
             */
            tile_bytes: number;
            /**
             * Format: uint64
             * @description Bytes that the disks may occupy.
             */
            bytes: number;
        };
        /** @description Reason for a step's verdict. */
        Cause: "limits-held" | "limit-broken" | "gave-up" | "no-answer" | "calls-failed" | "undecided" | "not-steady" | "generator" | "disturbed" | "inconsistent" | "unfinished";
        /** @description Consistency check of the measurement. */
        Check: {
            /** @description Stable identifier: `littles-law`, `submitted-is-completed`. */
            id: string;
            /** @description Expected value, in `unit`. */
            expected: components["schemas"]["Figure"];
            /** @description Measured value, in `unit`. */
            found: components["schemas"]["Figure"];
            /** @description Unit of both values: `I/Os`. */
            unit: string;
            /**
             * Format: double
             * @description Largest accepted difference, as a share of `expected`; 0 for exact checks.
             */
            tolerance: number;
            /** @description True if the check passed. */
            passed: boolean;
        };
        /** @description Reason why the search ended. */
        ClimbEnd: {
            /** @constant */
            how: "complete";
        } | {
            /** @constant */
            how: "interrupted";
        } | {
            /** @constant */
            how: "failed";
            /** @description Message of the error. */
            error: string;
        } | {
            /** @constant */
            how: "not-yet";
        };
        /** @description Progress of the search for the maximum number of tiles. */
        ClimbFacts: {
            /** @description Reason why the search ended. */
            ended: components["schemas"]["ClimbEnd"];
            /** @description Result above `tiles_held`; null if nothing above it was tested. */
            stop: components["schemas"]["Stop"] | null;
            /** @description Time limit that ended the search before the maximum was found. */
            out_of_time?: components["schemas"]["OutOfTime"] | null;
            /**
             * Format: uint64
             * @description Largest number of users that fit into memory, if this limited the number of tiles.
             */
            users_max?: number | null;
            /** @description Number of tiles that passed before an overload and failed after it. */
            hysteresis?: components["schemas"]["Hysteresis"] | null;
            /**
             * Format: uint32
             * @description Number of different tile counts that ran.
             */
            tile_counts: number;
            /**
             * Format: uint32
             * @description Number of different tile counts that passed.
             */
            tile_counts_passed: number;
            /** @description Tile counts above `tiles_held` that passed. */
            passed_above?: number[];
            /** @description Tile counts below `tiles_held` that failed. */
            failed_below?: number[];
            /** @description Error of the array model, if the model was fitted to measured storage. */
            model_error?: components["schemas"]["ModelError"] | null;
        };
        /** @description A figure of both runs. */
        CompareMetric: {
            /** @description Name of the figure. */
            name: string;
            /** @description Unit of the figure. */
            unit: string;
            /** @description Direction that is better: `higher` or `lower`. */
            better: string;
            /**
             * Format: double
             * @description Median value of A.
             */
            a: number | null;
            /**
             * Format: double
             * @description Median value of B.
             */
            b: number | null;
            /**
             * Format: double
             * @description Relative change: B minus A, divided by A.
             */
            change: number | null;
            /**
             * Format: double
             * @description Lower end of the change's interval.
             */
            low: number | null;
            /**
             * Format: double
             * @description Upper end of the change's interval.
             */
            high: number | null;
            /** @description Number of repeats of A and of B. */
            samples: number[];
            /** @description Verdict: `worse`, `better`, `same` or `inconclusive`. */
            verdict: string;
            /** @description Reason of the verdict; none if the numbers show it. */
            reason: string | null;
        };
        /** @description Answer of `GET /api/v1/compare?a=ID&b=ID`: B compared with A. */
        ComparePage: {
            /** @description Result in one sentence. */
            sentence: string;
            /** @description Verdict: `worse`, `better`, `same` or `inconclusive`. */
            verdict: string;
            /** @description Run A, the baseline. */
            a: components["schemas"]["CompareSide"];
            /** @description Run B, which is compared with it. */
            b: components["schemas"]["CompareSide"];
            /** @description Differences of hosts, targets and programs. */
            environment: components["schemas"]["DifferenceRow"][];
            /** @description Differences of the plans. */
            plan: components["schemas"]["DifferenceRow"][];
            /** @description Relation of the random streams: `same`, `overlapping` or `different`. */
            seeds: string;
            /** @description More notes for the reader. */
            notes: string[];
            /** @description Figures that both runs have. */
            metrics: components["schemas"]["CompareMetric"][];
            /** @description Reasons for verdicts, each once, with the number of figures it applies to. */
            reasons: components["schemas"]["CompareReason"][];
            /**
             * @description Distributions of reads and writes of both runs, in the step with the most tiles that both
             *     have.
             */
            curves: components["schemas"]["CurveOfSide"][];
            /** @description Edges of the rows of `difference`, nanoseconds. */
            edges_ns: number[];
            /** @description Difference of the shares of I/Os, B minus A, by size class (8) and row. */
            difference: number[][];
        };
        /** @description A reason for verdicts on figures. */
        CompareReason: {
            /** @description The reason in words. */
            text: string;
            /**
             * Format: uint64
             * @description Number of figures with this reason.
             */
            figures: number;
        };
        /** @description A run of the comparison. */
        CompareSide: {
            /** @description Identifier of the run. */
            id: string;
            /** @description Answer of the run. */
            sentence: string;
            /**
             * Format: uint32
             * @description Number of tiles of the shown distributions.
             */
            tiles: number;
        };
        /** @description Number of requests to a tier that copied whole disks. */
        CopyCounts: {
            /**
             * Format: uint64
             * @description Number of read requests.
             */
            reads: number;
            /**
             * Format: uint64
             * @description Number of read requests whose pages were all resident.
             */
            read_hits: number;
            /**
             * Format: uint64
             * @description Number of write requests.
             */
            writes: number;
            /**
             * Format: uint64
             * @description Number of write requests whose pages were all resident.
             */
            write_hits: number;
        };
        /** @description A limit in a step. */
        CurveLimit: {
            /**
             * Format: uint64
             * @description Limit, in nanoseconds.
             */
            limit_ns: number;
            /**
             * Format: uint64
             * @description Measured value over all tiles together, in nanoseconds.
             */
            measured_ns: number | null;
            /**
             * Format: double
             * @description Measured value divided by the limit; none without a measured value.
             */
            ratio: number | null;
            /**
             * Format: uint64
             * @description Lower end of the confidence interval, nanoseconds.
             */
            low_ns: number | null;
            /**
             * Format: uint64
             * @description Upper end of the confidence interval, nanoseconds.
             */
            high_ns: number | null;
            /**
             * Format: uint64
             * @description Number of samples.
             */
            samples: number;
            /** @description Verdict: `passed`, `failed` or `inconclusive`. */
            verdict: string;
            /**
             * Format: uint32
             * @description Number of the worst tile, from 1.
             */
            worst_tile: number | null;
        };
        /** @description A distribution of one side. */
        CurveOfSide: {
            /** @description Side of the comparison: `a` or `b`. */
            side: string;
            /** @description Direction: `read` or `write`. */
            direction: string;
            /**
             * Format: uint64
             * @description Number of I/Os.
             */
            count: number;
            /** @description Points of the distribution, as in [`super::PercentileCurve::points`]. */
            points: components["schemas"]["PercentilePoint"][];
        };
        /** @description A step of the curve. */
        CurvePoint: {
            /**
             * Format: uint32
             * @description Number of the step in the ladder, from 1.
             */
            step: number;
            /**
             * Format: uint32
             * @description Number of the repeat, from 1.
             */
            repeat: number;
            /**
             * Format: uint32
             * @description Number of tiles.
             */
            tiles: number;
            /**
             * Format: uint32
             * @description Number of virtual machines.
             */
            vms: number;
            /** @description Verdict: `passed`, `failed`, `inconclusive` or `interrupted`. */
            verdict: string;
            /** @description Reason of the verdict, in words. */
            reason: string;
            /**
             * Format: double
             * @description I/Os per second.
             */
            operations_per_s: number;
            /**
             * Format: double
             * @description Throughput, in bytes per second.
             */
            bytes_per_s: number;
            /**
             * Format: double
             * @description Actions per second.
             */
            actions_per_s: number;
            /**
             * Format: double
             * @description Score of the step.
             */
            score: number | null;
            /**
             * Format: double
             * @description Score of the same number of tiles on ideal storage, which is that number.
             */
            ideal_score: number;
            /** @description Limits over all tiles together, in the order of [`TileCurve::limits`]. */
            limits: (components["schemas"]["CurveLimit"] | null)[];
        };
        /** @description A value that differs between the runs. */
        DifferenceRow: {
            /** @description Name of the value: `kernel.release`. */
            key: string;
            /** @description Value in A. */
            a: string;
            /** @description Value in B. */
            b: string;
        };
        /** @description Values that a view of the run can be filtered by, and the kinds of data that the run has. */
        Dimensions: {
            /** @description Names of the workloads; in a recorded trace the VMs. */
            workloads: string[];
            /**
             * Format: uint32
             * @description Largest number of tiles that ran at the same time; tiles are numbered from 1.
             */
            tiles: number;
            /** @description Hosts that drove the load; empty for a single host. */
            hosts: string[];
            /** @description Labels of the eight size classes, smallest first. */
            classes: string[];
            /** @description True if an acceleration tier took part. */
            has_tier: boolean;
            /** @description True if endpoints were called. */
            has_calls: boolean;
            /** @description True if there are tiles and limits; a recorded trace has none. */
            has_ladder: boolean;
            /** @description True if submission times are known; without them, there are no rates. */
            has_times: boolean;
            /** @description True if latencies are known. */
            has_latencies: boolean;
            /** @description Sentence in place of charts whose times or latencies are unknown. */
            lacks: string | null;
        };
        /** @description Direction of an I/O. */
        Direction: "read" | "write" | "flush";
        /** @description Disturbance of the measurement by other programs or users of the same storage. */
        Disturbance: {
            /** @description Gauge that showed it. */
            gauge: components["schemas"]["GaugeName"];
            /** @description Main source: the name of a process, or a word. */
            by: string;
            /**
             * Format: double
             * @description Amount: a share, 0 to 1, or a number of events.
             */
            value: number;
            /**
             * Format: double
             * @description Largest accepted amount.
             */
            limit: number;
        };
        /** @description Time span on the run's axis in which other work disturbed the load. */
        DisturbedSpan: {
            /**
             * Format: uint32
             * @description Number of the step in the ladder, from 1.
             */
            step: number;
            /**
             * Format: uint32
             * @description Number of the repeat, from 1.
             */
            repeat: number;
            /**
             * Format: uint64
             * @description Begin on the run's axis, nanoseconds.
             */
            from_ns: number;
            /**
             * Format: uint64
             * @description End on the run's axis, nanoseconds.
             */
            to_ns: number;
            /** @description Source and amount of the disturbance. */
            text: string;
        };
        /** @description A reason to trust an answer less. */
        Doubt: {
            /**
             * @description Identifier: `disturbed`, `out-of-time`, `hysteresis`, `event`, `resized`, or the identifier
             *     of the warning.
             */
            id: string;
            /** @description Doubt in a sentence. */
            text: string;
        };
        /** @description Reason why the search ended. */
        Edge: "limit-broken" | "throughput-flat" | "capacity-reached" | "ladder-ended" | "none";
        /** @description Method by which energy was computed from samples. */
        EnergyBy: "counter" | "trapezoid" | "integral";
        /** @description Settings of the load generator. */
        EngineFacts: {
            /** @description I/O backend: `io_uring` or `threads`. */
            backend: string;
            /**
             * Format: uint32
             * @description Number of worker threads.
             */
            workers: number;
            /**
             * Format: uint32
             * @description Maximum number of I/Os in flight per worker.
             */
            depth: number;
            /** @description True if I/O went through the page cache. */
            buffered: boolean;
            /** @description True if every block was stamped when written and verified when read. */
            verify: boolean;
            /**
             * Format: uint64
             * @description Width of a time slice of the series, in nanoseconds.
             */
            slice_ns: number;
        };
        /** @description Existing virtual machines from which a tile was made. */
        EstateFacts: {
            /**
             * Format: uint32
             * @description Number of the virtual machines.
             */
            vms: number;
            /**
             * Format: double
             * @description Number of tiles whose load equals the load of all these virtual machines.
             */
            tiles: number;
            /**
             * Format: uint64
             * @description Bytes that the virtual machines hold.
             */
            capacity_bytes: number;
            /**
             * Format: double
             * @description Share of the virtual machines with measured load, 0 to 1. The load of the others is assumed.
             */
            measured: number;
        };
        /** @description Event of a run: one line of `events.jsonl`. */
        Event: {
            /**
             * Format: uint64
             * @description Time of the event, in nanoseconds since the start of the run, by a monotonic clock.
             */
            at_ns: number;
            /** @description Kind of the event. */
            kind: components["schemas"]["EventKind"];
        } & {
            [key: string]: unknown;
        };
        /** @description Kind of an event. */
        EventKind: "run-start" | "run-end" | "prefill" | "larger-disks" | "step-start" | "step-end" | "verified" | "wrong-blocks" | "error" | string;
        /** @description Answer of `GET /api/v1/runs/{id}/events`: events in the order of their times. */
        EventList: {
            /**
             * @description Lines of `events.jsonl`. Their times are on the run's clock, which includes pauses between
             *     steps.
             */
            events: components["schemas"]["Event"][];
        };
        /** @description Expectation of a run, with its result. */
        Expected: {
            /** @description Expectation as in the plan: `tiles >= 8`. */
            text: string;
            /** @description Result: `passed` if met, `failed` if missed, `inconclusive` if the run does not decide it. */
            verdict: components["schemas"]["Verdict"];
            /** @description Result in a sentence. */
            reason: string;
            /** @description Unit of the numbers: `tiles`, `tiles' worth` or `ns`. */
            unit: string;
            /**
             * Format: double
             * @description Measured value; null without one.
             */
            found: number | null;
            /**
             * Format: double
             * @description Lower end of the confidence interval; null without one.
             */
            low: number | null;
            /**
             * Format: double
             * @description Upper end of the confidence interval; null without one, or if it is open.
             */
            high: number | null;
            /**
             * Format: uint32
             * @description Number of tiles of the step that was compared; null if the answer as a whole was compared.
             */
            tiles?: number | null;
        };
        /** @description A fact about the measurement of a run. */
        Fact: {
            /** @description Name of the fact: `Seed`. */
            name: string;
            /** @description Value of the fact: `42 (xoshiro256++/1)`. */
            value: string;
        };
        /** @description Number, or the reason why there is none. The number is finite. */
        Figure: {
            /**
             * Format: double
             * @description Number in the unit that the field's name or description gives; null if there is none.
             */
            value: number | null;
            /** @description Reason why there is no number; absent if there is one. */
            reason?: string | null;
        };
        /** @description A finding that is worth a closer look. */
        Finding: {
            /** @description Kind of the finding. */
            id: string;
            /** @description Sentence with the number, the value that it is compared with, and the number of samples. */
            text: string;
            /**
             * Format: double
             * @description Weight of the finding, 0 to 1; findings are sorted by it.
             */
            effect: number;
            /**
             * Format: uint64
             * @description Number of I/Os or actions of the finding.
             */
            samples: number;
            /** @description Link to the proof, as in [`Hero::link`]. */
            link: string;
        };
        /** @description Warnings with the same code and advice, combined into one. */
        FoldedWarning: {
            /** @description Stable identifier: `not-steady`. */
            id: string;
            /**
             * @description Place and number of the warnings: `at 1, 2, 4 tiles, 24 times`; empty for a single warning
             *     of the run.
             */
            place: string;
            /**
             * @description Meaning of the warnings, and what they are about: `the shop's limit on order was not tested;
             *     likewise mail's limit on send`.
             */
            text: string;
            /** @description Measured values, each distinct value once; empty without values. */
            found: string;
            /** @description Limits that the values are compared with, each distinct limit once; empty without limits. */
            allowed: string;
            /** @description Advice on what to try next, if there is any. */
            hint: string | null;
        };
        /** @description Value of a gauge in one slice. */
        Gauge: {
            /** @description Name of the gauge. */
            name: components["schemas"]["GaugeName"];
            /**
             * @description Name of the object that the gauge describes: `host`, or a name among the objects of kind
             *     [`GaugeName::scope`].
             */
            scope: string;
            /**
             * Format: double
             * @description Value, in the unit of the gauge.
             */
            value: number;
        };
        /** @description Name of a gauge. */
        GaugeName: "cpu.own" | "cpu.others" | "over.server_cpu" | "over.initiator_cpu" | "servers.cpu" | "vm.cpu" | "vm.ready" | "cpu.steal" | "cpu.waiting" | "pressure.memory" | "pressure.io" | "io.others" | "device.busy" | "device.queue" | "device.bytes" | "generator.paused" | "cpu.throttled" | "cpu.frequency" | "power.watts" | "part.utilisation" | "tier.capacity_bytes" | "tier.resident_bytes" | "tier.dirty_bytes" | "tier.reads" | "tier.read_hits" | "tier.read_bytes" | "tier.read_hit_bytes" | "tier.writes" | "tier.write_hits" | "tier.write_bytes" | "tier.write_hit_bytes" | "tier.writes_absorbed" | "tier.remote_hits" | "tier.memory_hits" | "tier.memory_held_bytes" | "tier.memory_taken_bytes" | "tier.filled_bytes" | "tier.placed_bytes" | "tier.evicted_bytes" | "tier.destaged_bytes" | "tier.tier_written_bytes";
        /**
         * @description State of the load generator during a step. It is evidence that the generator was not the
         *     bottleneck.
         */
        GeneratorHealth: {
            /**
             * Format: uint64
             * @description 99th percentile of the lateness of due work, in nanoseconds; null if nothing was due.
             */
            lateness_p99_ns: number | null;
            /**
             * Format: uint64
             * @description Maximum lateness of due work, in nanoseconds; null if nothing was due.
             * @default null
             */
            lateness_max_ns: number | null;
            /** @description CPU time of the busiest worker thread as a share of the measured time, 0 to 1. */
            worker_cpu_max: components["schemas"]["Figure"];
            /**
             * @description User-mode CPU time of the whole process per completed I/O, in microseconds, over the step
             *     including its warm-up.
             */
            cpu_user_us_per_io: components["schemas"]["Figure"];
            /**
             * @description Kernel-mode CPU time per completed I/O, in microseconds, over the step including its
             *     warm-up. It covers the process and its kernel helper threads.
             */
            cpu_system_us_per_io: components["schemas"]["Figure"];
            /**
             * Format: uint64
             * @description Number of requests that waited for a free slot of the generator itself.
             */
            queued: number;
            /** @description Mean number of I/Os in flight. */
            in_flight_mean: components["schemas"]["Figure"];
            /** @description True if the generator, not the storage, was the bottleneck. */
            saturated: boolean;
            /** @description Evidence of the saturation; absent if it was not saturated. */
            reason?: string | null;
        };
        /**
         * @description A line. Each list has one entry per point; none where there was no I/O. For latency, `mean`,
         *     `p50`, `p99` and `max` come from the point's merged histogram. For rates, `mean` covers the
         *     whole point, and `min` and `max` are the extremes of its slices.
         */
        Group: {
            /** @description Key in the lens: `r`, `64k`, `shop`, `12` (a tile), `all`. */
            key: string;
            /** @description Name for people. */
            label: string;
            /** @description Number of I/Os in each point; a latency from few I/Os means little. */
            count: number[];
            /** @description Mean of each point. */
            mean: (number | null)[];
            /** @description Minimum of each point. */
            min: (number | null)[];
            /** @description Maximum of each point. */
            max: (number | null)[];
            /** @description Median of each point; empty for rates. */
            p50: (number | null)[];
            /** @description 95th percentile of each point; empty for rates. */
            p95: (number | null)[];
            /** @description 99th percentile of each point; empty for rates. */
            p99: (number | null)[];
            /** @description Share of all waiting in the point, 0 to 1: the contribution to latency. Empty for rates. */
            wait_share: (number | null)[];
        };
        /** @description Answer of a run in parts, without repetition. It is printed first and large. */
        Headline: {
            /** @description Verdict: `passed`, `failed`, `inconclusive` or `interrupted`. */
            verdict: string;
            /**
             * @description Sentence with the number of VMs to plan with, the tighter of speed and room first: `Plan
             *     with 24 VMs: 3 tiles at full size have room (64 GiB a tile, 200 GiB may be used). At least
             *     ...`; none where nothing is known.
             */
            plan: string | null;
            /** @description Scaling of the measurement: `quick estimate, disks 1/512`; none at full size. */
            estimate: string | null;
            /** @description Number of tiles by speed: `26 to 29 tiles`, `at least 8 tiles`, `no tile`, `not known`. */
            speed: string;
            /** @description Note on the number of tiles: `27 most likely, 95 % interval; score 22.40`. */
            speed_note: string;
            /** @description Answer in existing virtual machines; none without an estate. */
            estate: string | null;
            /**
             * @description Effect of infrastructure operations on the tiles: `Operations 62 % of the time; the tiles'
             *     actions then took 1.23 times as long (1.10 to 1.40) as without.`; none without operations.
             */
            operations: string | null;
            /** @description Sentence about the limit that breaks, or about another reason why the search ended. */
            breaks: string;
            /** @description Link to the proof: a page's path and query below the run, `map?step=5`. */
            link: string | null;
            /** @description Cause of the break, as a sentence. */
            why: string | null;
            /** @description Doubts about the answer, most important first. */
            doubts: components["schemas"]["Doubt"][];
        };
        /** @description View `heatmap`: I/Os by time and service time. */
        HeatMap: {
            /** @description Summary in one sentence. */
            sentence: string;
            /** @description Begin of each column, nanoseconds on the run's axis. */
            at_ns: number[];
            /** @description Length of each column, nanoseconds. */
            width_ns: number[];
            /**
             * @description Boundaries of the rows, nanoseconds, ascending, logarithmic: one more than rows. A row
             *     contains values above its lower and up to its upper boundary; the first and the last row
             *     also contain all values beyond.
             */
            edges_ns: number[];
            /**
             * @description Cells by column: pairs of row and number of I/Os in a flat list; rows without I/O are left
             *     out.
             */
            columns: number[][];
            /** @description Longest service time of each column, nanoseconds. */
            max_ns: (number | null)[];
            /** @description 99th percentile of each column, nanoseconds. */
            p99_ns: (number | null)[];
            /**
             * Format: uint32
             * @description Largest number of I/Os of any cell.
             */
            most: number;
        };
        /** @description A main number. */
        Hero: {
            /** @description Name of the number. */
            label: string;
            /** @description Number as it is printed, with its unit: `18,400 IOPS`, `0.9 ms`. */
            text: string;
            /**
             * Format: double
             * @description Value of the number, unscaled.
             */
            value: number | null;
            /** @description Unit of `value`: `ns`, `io_per_s`, `call_per_s`, `bytes_per_s`, `tiles`, `share`. */
            unit: string;
            /** @description Time that the number applies to, and the value that it is compared with. */
            note: string;
            /**
             * Format: uint64
             * @description Number of samples.
             */
            samples: number | null;
            /** @description Values over the lens's time for the sparkline, at most 60 points. */
            spark: (number | null)[];
            /** @description Link to the proof: a page's path and query below the run, `latency?s=p99`. */
            link: string;
        };
        /** @description CPU use of a host. */
        HostFacts: {
            /** @description Name of the host: `host-1`, `host-2`, ... */
            name: string;
            /**
             * Format: double
             * @description Used share of all cores, 0 to 1, whatever their frequency.
             */
            used: number;
            /**
             * Format: double
             * @description Used cycles, as a share of all cycles at the nominal frequency. vCenter counts usage this
             *     way; with turbo, it is more than `used`. Null if all cores have one frequency, as it then
             *     equals `used`.
             */
            cycles?: number | null;
            /**
             * Format: double
             * @description Share of all cores that virtual machines may use.
             * @default 1
             */
            capacity: number;
            /**
             * Format: double
             * @description Largest `used` in a single second.
             */
            used_max_1s: number;
            /**
             * Format: double
             * @description Largest `used` over 20 seconds.
             */
            used_max_20s: number;
            /**
             * Format: double
             * @description Ready time of all virtual machines of the host, in seconds per second of the run.
             */
            ready: number;
            /**
             * Format: double
             * @description Largest `ready` in a single second.
             */
            ready_max_1s: number;
            /**
             * Format: double
             * @description Largest `ready` over 20 seconds.
             */
            ready_max_20s: number;
        };
        /** @description Rates of one of several hosts. */
        HostRate: {
            /** @description Name of the host. */
            host: string;
            /**
             * Format: double
             * @description Successful I/Os per second.
             */
            operations_per_s: number;
            /**
             * Format: double
             * @description Throughput, in bytes per second.
             */
            bytes_per_s: number;
        };
        /** @description Share of one host in a step. */
        HostStep: {
            /** @description Name of the host. */
            host: string;
            /**
             * @description Tiles that the host drove when the step began, from 0. Later moves are in the step's
             *     `events`.
             */
            tiles: number[];
            /**
             * Format: uint64
             * @description Delay of the host's load after the common start, by the host's own clock, in nanoseconds.
             */
            began_late_ns: number;
            /**
             * Format: uint64
             * @description Uncertainty of the common start on that host, in nanoseconds.
             */
            clock_uncertainty_ns: number;
            /**
             * Format: uint64
             * @description Number of slices that were lost in transfer and fetched again.
             */
            slices_fetched: number;
            /**
             * Format: uint64
             * @description Maximum wait for a slice of this host after the other hosts' slices had arrived, in
             *     nanoseconds.
             */
            slice_late_max_ns: number;
            /**
             * Format: double
             * @description Successful I/Os and calls per second.
             */
            operations_per_s: number;
            /**
             * Format: double
             * @description Throughput, in bytes per second.
             */
            bytes_per_s: number;
            /** @description Times of the host's I/Os and calls, compared with the other hosts. */
            against_others: components["schemas"]["AgainstOthers"];
            /**
             * @description Each limit, checked against all samples of the host's `tiles` together, on whichever host
             *     they ran.
             */
            limits: components["schemas"]["PooledLimit"][];
            /** @description State of the host's load generator. */
            generator: components["schemas"]["GeneratorHealth"];
        };
        /**
         * @description Number of tiles that passed before an overload and failed after it: the storage had not
         *     recovered.
         */
        Hysteresis: {
            /**
             * Format: uint32
             * @description Number of tiles that passed and then failed.
             */
            tiles: number;
            /**
             * Format: uint32
             * @description Number of tiles in the overload.
             */
            overload: number;
        };
        /** @description Confidence interval of an estimate. */
        Interval: {
            /**
             * Format: double
             * @description Lower end, in the unit of the estimate.
             */
            low: number;
            /**
             * Format: double
             * @description Upper end, in the unit of the estimate.
             */
            high: number;
            /**
             * Format: double
             * @description Share of such intervals that contain the true value: 0.95 for 95 %.
             */
            confidence: number;
            /** @description Method of computation, for example `bootstrap of 60 slices, 2000 resamples, seed 7`. */
            method: string;
        };
        /** @description All I/O of one direction in the measured time. */
        IoTotal: {
            /** @description Direction of the I/O. */
            direction: components["schemas"]["Direction"];
            /**
             * Format: uint64
             * @description Number of successful I/Os.
             */
            count: number;
            /**
             * Format: uint64
             * @description Number of failed I/Os; they are not in the latencies.
             */
            errors: number;
            /**
             * Format: uint64
             * @description Bytes moved by successful I/Os.
             */
            bytes: number;
            /**
             * Format: double
             * @description Successful I/Os per second.
             */
            operations_per_s: number;
            /**
             * Format: double
             * @description Throughput, in bytes per second.
             */
            bytes_per_s: number;
            /** @description Service time: from submission to completion. */
            service: components["schemas"]["Latency"];
            /** @description Response time: from the intended start to completion. */
            response: components["schemas"]["Latency"];
        };
        /** @description Cache size above which more cache brings less (Satopää and others 2011). */
        KneeRow: {
            /** @description Name of the VM, or `all`. */
            vm: string;
            /**
             * Format: uint64
             * @description Page size, bytes.
             */
            page_bytes: number;
            /**
             * Format: uint64
             * @description Number of page references behind the curve.
             */
            references: number;
            /**
             * Format: uint64
             * @description Cache size, bytes.
             */
            cache_bytes: number;
            /**
             * Format: double
             * @description Share of references that miss at this size.
             */
            miss_ratio: number;
            /**
             * Format: double
             * @description Share of references that miss in a cache of any size, because they are first references.
             */
            miss_ratio_least: number;
        };
        /** @description Name, tags and note that a user gave a run. They do not affect the measurement. */
        Labels: {
            /** @description Name that the user gave; several runs may have the same one. */
            name?: string | null;
            /** @description Tag values by key: key `branch`, value `main`. */
            tags?: {
                [key: string]: string;
            };
            /** @description Note for people. */
            note?: string | null;
        };
        /**
         * @description Latency distribution, summarised in nanoseconds. A percentile is the upper bound of a histogram
         *     bucket, at most 0.8 % above the true value. All values are null if there were no samples.
         */
        Latency: {
            /**
             * Format: uint64
             * @description Number of samples.
             */
            samples: number;
            /**
             * Format: uint64
             * @description Exact mean, in nanoseconds, rounded down.
             */
            mean_ns: number | null;
            /**
             * Format: uint64
             * @description Median of the samples, in nanoseconds.
             */
            p50_ns: number | null;
            /**
             * Format: uint64
             * @description 95th percentile, in nanoseconds.
             */
            p95_ns: number | null;
            /**
             * Format: uint64
             * @description 99th percentile, in nanoseconds.
             */
            p99_ns: number | null;
            /**
             * Format: uint64
             * @description 99.9th percentile, in nanoseconds.
             */
            p999_ns: number | null;
            /**
             * Format: uint64
             * @description Largest sample, in nanoseconds.
             */
            max_ns: number | null;
            /** @description Reason why the values are null; absent if they are not. */
            reason?: string | null;
        };
        /** @description View `matrix`: I/Os by size class and service time. */
        LatencyMatrix: {
            /** @description Summary: the first class whose 99th percentile breaks the limit, or that no class does. */
            sentence: string;
            /**
             * @description Upper boundaries of all rows but the last: 20 us, then 23 nearly logarithmic boundaries to
             *     10 s; 24 in total.
             */
            edges_ns: number[];
            /**
             * Format: uint64
             * @description Limit for the 99th percentiles, in nanoseconds.
             */
            limit_ns: number;
            /** @description Source of the limit, in words. */
            limit_source: string;
            /** @description Panels of reads, then of writes. */
            panels: components["schemas"]["MatrixPanel"][];
        };
        /**
         * @description Parts of the mean latency over time. Lists have one entry per point. An entry is none where
         *     there was no such I/O, and a list is empty if its source is absent.
         */
        LatencySplit: {
            /** @description Summary in one sentence. */
            sentence: string;
            /** @description Begin of each point on the axis, nanoseconds. */
            at_ns: number[];
            /** @description Length of each point, nanoseconds. */
            width_ns: number[];
            /** @description Mean time that guests wait for an I/O, by QEMU's own counters. */
            guest_ns: (number | null)[];
            /** @description Number of I/Os in `guest_ns`. */
            guest_count: number[];
            /** @description Mean time that the host's kernel queues an I/O. */
            queue_ns: (number | null)[];
            /** @description Mean time that the device takes for an I/O. */
            device_ns: (number | null)[];
            /** @description Number of I/Os in `queue_ns` and `device_ns`. */
            host_count: number[];
        };
        /** @description Steps that a simulation left out because of its time limit. */
        LeftOut: {
            /** @description First step that was left out; null if all steps ran. */
            next: components["schemas"]["NextStep"] | null;
            /**
             * Format: uint32
             * @description Number of steps that ran.
             */
            steps_run: number;
            /**
             * Format: uint32
             * @description Number of planned steps; null if a search chose the steps.
             */
            steps_asked: number | null;
        };
        /** @description A limit and its measured value. */
        LimitHeld: {
            /** @description Name of the limit: `order p95`. */
            name: string;
            /**
             * Format: uint64
             * @description Measured value, in nanoseconds.
             */
            measured_ns: number | null;
            /**
             * Format: uint64
             * @description Limit, in nanoseconds.
             */
            limit_ns: number;
            /**
             * Format: double
             * @description Measured value divided by the limit.
             */
            ratio: number | null;
            /**
             * Format: uint64
             * @description Number of samples.
             */
            samples: number;
            /** @description Verdict: `passed`, `failed` or `inconclusive`. */
            verdict: string;
        };
        /** @description Kind of object that a limit applies to. */
        LimitOn: "action" | "io" | "call";
        /** @description Limit, with the measured value and the verdict. */
        LimitResult: {
            /**
             * @description Kind of object in `name`: an action (response time), or a kind of I/O or call (service
             *     time).
             */
            on: components["schemas"]["LimitOn"];
            /** @description Name of the action, or of the kind of I/O or call. */
            name: string;
            /** @description `mean`, `max` or a percentile: `p95`, `p99.9`. */
            statistic: components["schemas"]["Statistic"];
            /**
             * Format: uint64
             * @description Value of the limit, in nanoseconds.
             */
            limit_ns: number;
            /**
             * Format: uint64
             * @description Measured value, in nanoseconds; null if there were too few samples.
             */
            measured_ns: number | null;
            /**
             * Format: uint64
             * @description Lower end of the confidence interval, in nanoseconds; null without an interval.
             */
            interval_low_ns: number | null;
            /**
             * Format: uint64
             * @description Upper end of the confidence interval, in nanoseconds; null without an interval.
             */
            interval_high_ns: number | null;
            /**
             * Format: double
             * @description Share of such intervals that contain the true value: 0.95 for 95 %; null without an
             *     interval.
             */
            confidence: number | null;
            /**
             * Format: uint64
             * @description Number of samples.
             */
            samples: number;
            /**
             * Format: uint64
             * @description Number of unfinished pieces of work at the end of the window that are older than the limit.
             *     Their ages are lower bounds of samples.
             */
            unfinished?: number;
            /**
             * Format: double
             * @description Probability that the limit is exceeded, estimated from the differences between blocks of the
             *     window; null if the samples do not suffice.
             */
            chance_of_break?: number | null;
            /** @description Verdict on the limit. */
            verdict: components["schemas"]["Verdict"];
            /**
             * @description Remaining room, as a share of the limit: `(limit - measured) / limit`. Negative if the limit
             *     was exceeded.
             */
            margin: components["schemas"]["Figure"];
            /** @description Reason for the verdict, if the numbers do not show it. */
            reason?: string | null;
        };
        /** @description A limit during its measurement. */
        LiveLimit: {
            /** @description Name of the limit, such as `shop order p95`. */
            name: string;
            /**
             * Format: uint64
             * @description Value measured so far, nanoseconds; none without samples.
             */
            measured_ns: number | null;
            /**
             * Format: uint64
             * @description Limit, in nanoseconds.
             */
            limit_ns: number;
            /**
             * Format: double
             * @description Measured value divided by the limit; above 1 the limit is broken so far.
             */
            share: number | null;
        };
        /** @description Activity of a run. */
        LivePhase: "preparing" | "warm-up" | "measured" | "judging" | "ended";
        /**
         * @description Live state of a run. `GET /api/v1/runs/{id}/live` sends it about once a second, as server-sent
         *     events named `state`. The last event is named `end`.
         */
        LiveState: {
            /**
             * Format: uint64
             * @description Number that rises with every change, so that views are requested again.
             */
            version: number;
            /** @description Current activity. */
            phase: components["schemas"]["LivePhase"];
            /**
             * @description Answer so far: `Held so far: 8 tiles. Trying 12, about 2 min left.`
             * @default
             */
            headline: string;
            /** @description Summary in one sentence: the load, its progress, and the users' latency. */
            sentence: string;
            /**
             * Format: uint32
             * @description Number of tiles of the step.
             */
            tiles: number;
            /**
             * Format: uint64
             * @description Time under load so far, nanoseconds.
             */
            elapsed_ns: number;
            /**
             * Format: uint64
             * @description Maximum time left of this phase, nanoseconds.
             */
            left_ns: number | null;
            /**
             * @description Time left of the whole run in words: `about 2 min left`; none if it cannot be estimated.
             * @default null
             */
            run_left: string | null;
            /**
             * Format: double
             * @description Share of the preparation that is done, 0 to 1.
             */
            prepared: number | null;
            /**
             * Format: double
             * @description I/Os per second in the last second.
             */
            operations_per_s: number;
            /**
             * Format: double
             * @description Successful calls in the last second; none without calls, or before the number is known.
             * @default null
             */
            calls_per_s: number | null;
            /**
             * Format: double
             * @description Bytes per second in the last second.
             */
            bytes_per_s: number;
            /**
             * Format: uint64
             * @description 99th percentile of the service time in the last second, nanoseconds. It is for I/Os, or for
             *     calls if there is no I/O.
             */
            p99_ns: number | null;
            /**
             * @description Limits of the running step over all tiles together, the one with the least room first.
             * @default []
             */
            limits: components["schemas"]["LiveLimit"][];
            /**
             * @description Reasons to doubt the numbers: current disturbances, disturbed steps, and the reason why the
             *     last step was not decided.
             * @default []
             */
            doubts: string[];
            /**
             * @description Rates of each of several hosts in the last slice; empty for one host, and if another process
             *     carries out the run.
             * @default []
             */
            hosts: components["schemas"]["HostRate"][];
            /**
             * Format: uint64
             * @description Number of slices that the live view dropped because it was behind; in a recording, batches
             *     of I/Os.
             */
            lost_slices: number;
        };
        /** @description A cell of [`LoadMatrix`]. */
        LoadCell: {
            /** @description Direction: `read` or `write`. */
            direction: string;
            /**
             * Format: uint8
             * @description Size class, 0 to 7.
             */
            class: number;
            /**
             * Format: uint32
             * @description Position of the cell's column, from 0.
             */
            column: number;
            /**
             * Format: uint64
             * @description Number of I/Os.
             */
            count: number;
            /**
             * Format: uint64
             * @description 99th percentile of the service time.
             */
            p99_ns: number;
            /** @description True if there are at least 30 I/Os. */
            is_enough: boolean;
        };
        /** @description Host that drove a part of the load. */
        LoadHost: {
            /** @description Name of the host in this run. */
            name: string;
            /** @description Address of the host, as given with `--host`. */
            reached: string;
            /** @description Hostname that the host's kernel reports. */
            hostname: string;
            /** @description Version of the program on the host. It equals the controller's version. */
            version: string;
            /**
             * Format: int64
             * @description Lead of the host's monotonic clock over the controller's clock when the host joined, in
             *     nanoseconds. Each clock counts from its host's boot, so only changes of the lead are
             *     meaningful.
             */
            clock_ahead_ns: number;
            /**
             * Format: uint64
             * @description Uncertainty of the lead, in nanoseconds: half of the shortest round trip.
             */
            clock_uncertainty_ns: number;
            /**
             * Format: uint64
             * @description Shortest round trip between controller and host, in nanoseconds.
             */
            round_trip_ns: number;
            /** @description Description of the target as this host sees it, in one line. */
            target_summary: string;
            /** @description Path of the disks on the host. */
            path: string;
        };
        /** @description View `breaks`: p99 by size class and load. */
        LoadMatrix: {
            /** @description Summary: the smallest load at which a class breaks the limit. */
            sentence: string;
            /** @description Kind of load of the columns: `tiles` or `outstanding`. */
            load: string;
            /** @description Names of the columns, smallest load first. */
            columns: string[];
            /**
             * Format: uint64
             * @description Limit for the 99th percentiles, in nanoseconds.
             */
            limit_ns: number;
            /** @description Source of the limit, in words. */
            limit_source: string;
            /** @description Cells that are not empty. */
            cells: components["schemas"]["LoadCell"][];
        };
        /** @description A gauge of the host over time. */
        MachineGauge: {
            /** @description Name in `gauges.parquet`: `cpu.others`. */
            name: string;
            /** @description Title for people. */
            title: string;
            /** @description Subject of the gauge: `host`, or a device. */
            scope: string;
            /** @description Unit: `share`, `bytes_per_s`, `watts` or `count`. */
            unit: string;
            /** @description Mean of each point; none where the gauge was not read. */
            mean: (number | null)[];
            /** @description Maximum of each point; none where the gauge was not read. */
            max: (number | null)[];
        };
        /**
         * @description View `machine`: other work of the host during the load, and the times at which it disturbed the
         *     load.
         */
        MachinePage: {
            /** @description Summary in one sentence. */
            sentence: string;
            /** @description Begin of each point on the run's axis, nanoseconds. */
            at_ns: number[];
            /** @description Length of each point, nanoseconds. */
            width_ns: number[];
            /** @description Gauges that were not near zero all the time. */
            gauges: components["schemas"]["MachineGauge"][];
            /** @description Titles of the gauges that were near zero all the time. */
            idle: string[];
            /** @description Steps that other work disturbed. */
            disturbed: components["schemas"]["DisturbedSpan"][];
        };
        /** @description A workload of a tile; in a recorded trace a VM. */
        MapItem: {
            /** @description Name: `tile-3/shop`, or the VM. */
            name: string;
            /**
             * Format: uint32
             * @description Tile, from 1; 0 for a recorded trace.
             */
            tile: number;
            /** @description Name of the workload. */
            workload: string;
            /**
             * @description Host of the workload, if the run has several (`host-1, host-3` if its VMs are on both); in a
             *     recorded trace the recording host, if known.
             */
            host: string | null;
            /**
             * Format: uint64
             * @description Number of I/Os.
             */
            count: number;
            /**
             * Format: double
             * @description I/Os per second.
             */
            operations_per_s: number;
            /**
             * Format: double
             * @description Throughput, in bytes per second.
             */
            bytes_per_s: number;
            /**
             * Format: uint64
             * @description Number of bytes.
             */
            bytes: number;
            /**
             * Format: double
             * @description Share of reads by count, 0 to 1.
             */
            read_share: number | null;
            /**
             * Format: uint64
             * @description Median service time, nanoseconds.
             */
            p50_ns: number | null;
            /**
             * Format: uint64
             * @description 99th percentile of the service time, nanoseconds.
             */
            p99_ns: number | null;
            /** @description Limit with the least room, or the most exceeded limit, in the last step of the lens. */
            limit: components["schemas"]["LimitHeld"] | null;
            /** @description Position over the lens's time, at most 12 points. */
            trail: components["schemas"]["TrailPoint"][];
        };
        /** @description View `map`: amount of I/O and latency by workload and tile. */
        MapPage: {
            /** @description Summary: the workload with the most I/O, and the one nearest to its limit. */
            sentence: string;
            /** @description Workloads of all tiles in the lens, the most I/O first. */
            items: components["schemas"]["MapItem"][];
        };
        /** @description Panel of one direction. */
        MatrixPanel: {
            /** @description Direction: `read` or `write`. */
            direction: string;
            /** @description Number of I/Os by class (8) and row (25). */
            cells: number[][];
            /** @description 99th percentile by class, nanoseconds. */
            p99_ns: (number | null)[];
            /** @description Number of I/Os by class. */
            count: number[];
            /**
             * Format: uint8
             * @description First size class whose p99 breaks the limit, among classes with at least 30 I/Os.
             */
            first_break: number | null;
        };
        /** @description Energy that a meter measured in the measured time of a step. */
        MeterEnergy: {
            /** @description Name of the meter. */
            meter: string;
            /** @description Part of the measured system that the meter covers. */
            scope: components["schemas"]["MeterScope"];
            /** @description Energy over exactly the measured time, in joules; absent if there are too few samples. */
            joules: components["schemas"]["Figure"];
            /** @description Mean power over exactly the measured time, in watts; absent if there are too few samples. */
            mean_watts: components["schemas"]["Figure"];
            /**
             * Format: double
             * @description Largest single sample, in watts; null without samples.
             */
            most_watts: number | null;
            /** @description Method by which energy was computed; null without energy. */
            by: components["schemas"]["EnergyBy"] | null;
            /**
             * Format: uint64
             * @description Number of samples in the measured time.
             */
            samples: number;
            /**
             * Format: uint64
             * @description Maximum time between two samples, in nanoseconds.
             */
            gap_max_ns: number;
            /** @description Faults of the meter in the measured time; each is listed once. */
            faults?: string[];
        };
        /** @description Meter that was read during the run. */
        MeterFacts: {
            /** @description Name of the meter in this run. It is the scope of the meter's gauges. */
            name: string;
            /** @description Meter as given by the user, without secrets. */
            asked: string;
            /** @description Part of the measured system that the meter covers. */
            scope: components["schemas"]["MeterScope"];
            /** @description Hosts that the meter covers; empty if there is only one host. */
            of?: string[];
            /** @description Model of the meter, as the meter reports it. */
            model: string;
            /** @description Method by which the meter obtains its numbers. */
            method: components["schemas"]["MeterMethod"];
            /**
             * Format: uint64
             * @description Time between two samples, in nanoseconds.
             */
            period_ns: number;
            /**
             * Format: double
             * @description Resolution of the watts; null if unknown.
             */
            resolution_watts: number | null;
            /**
             * Format: double
             * @description Resolution of the counter, in joules; null without a counter.
             */
            counter_step_joules: number | null;
            /**
             * Format: double
             * @description Uncertainty as a share of the reading, as stated by the meter or its maker; null if unknown.
             */
            uncertainty: number | null;
            /** @description Mean watts before the first step, without load on the storage. */
            idle_watts: components["schemas"]["Figure"];
            /** @description Notes about the meter for the reader. */
            notes?: string[];
        };
        /** @description Method by which a meter obtains its numbers. */
        MeterMethod: "measured" | "averaged" | "estimated" | "modelled";
        /** @description Part of the measured system that a meter covers. */
        MeterScope: "host" | "storage" | "rack" | "processor";
        /** @description Amount of work of a workload, compared with its reference. */
        MetricResult: {
            /** @description Work per unit of time, in `unit`; absent if the workload only generates load. */
            value: components["schemas"]["Figure"];
            /** @description Unit of `value` and `reference`: `orders/min`. */
            unit: string;
            /** @description Amount of work that counts as one tile's worth, in `unit`. */
            reference: components["schemas"]["Figure"];
            /** @description Source of `reference`: the workload's definition, or a simulation on ideal storage. */
            reference_origin: components["schemas"]["ReferenceOrigin"];
            /** @description `value / reference`: the factor that enters the tile's geometric mean. */
            normalised: components["schemas"]["Figure"];
        };
        /** @description Point of a miss-ratio curve. */
        MissRatioRow: {
            /** @description Name of the VM, or `all`. */
            vm: string;
            /**
             * Format: uint64
             * @description Page size, bytes.
             */
            page_bytes: number;
            /**
             * Format: uint64
             * @description Cache size, bytes.
             */
            cache_bytes: number;
            /**
             * Format: double
             * @description Share of page references, reads and writes alike, that miss in an LRU cache.
             */
            miss_ratio: number;
            /**
             * Format: double
             * @description Share of the pages that were sampled; 1 means exact.
             */
            sampled_share: number;
        };
        /** @description Error of a model that was fitted to measured storage. */
        ModelError: {
            /**
             * @description Confidence interval of the maximum number of tiles, without the error of the model; null if
             *     no step above was decided.
             */
            searched: components["schemas"]["TilesInterval"] | null;
            /** @description True if the interval of the answer is widened by the error of the model. */
            is_interval_widened: boolean;
            /** @description True if the error is too large for the number of tiles to be an answer. */
            is_too_far: boolean;
            /** @description Size of the error in words, from the calibration. */
            text: string;
        };
        /**
         * @description State of the modelled storage and hosts in the measured time of a simulated step. For a measured
         *     step, only the host can be known, from the system's processor counters.
         */
        ModelFacts: {
            /** @description All parts, in the order in which an I/O passes them. Equal parts are one entry. */
            parts: components["schemas"]["PartFacts"][];
            /** @description All tiers, and all memory that answers reads. */
            tiers: components["schemas"]["TierFacts"][];
            /** @description All hosts. */
            hosts: components["schemas"]["HostFacts"][];
            /**
             * @description All virtual machines with modelled virtual CPUs. Virtual machines of the same name in
             *     several tiles are one entry.
             */
            vms?: components["schemas"]["VmFacts"][];
            /** @description Hosts of each workload of each tile; absent if no hosts are modelled. */
            places?: components["schemas"]["PlaceFacts"][];
            /**
             * Format: uint64
             * @description Number of events that the simulation handled, including the warm-up.
             */
            events: number;
            /** @description Bytes of all distinct pages that each tile has touched since the start. */
            touched_bytes: number[];
        };
        /** @description View `moment`: the run at one point in time. */
        Moment: {
            /** @description Summary in one sentence. */
            sentence: string;
            /**
             * Format: uint64
             * @description Begin on the run's axis, nanoseconds.
             */
            at_ns: number;
            /**
             * Format: uint64
             * @description Length of the moment, nanoseconds.
             */
            width_ns: number;
            /** @description I/O by direction and size class. */
            sizes: components["schemas"]["SizeRow"][];
            /** @description Workloads that wait most, sorted by waiting time, at most ten. */
            top: components["schemas"]["MapItem"][];
            /** @description Boundaries of the buckets below, nanoseconds; one more than buckets. */
            edges_ns: number[];
            /** @description Number of I/Os by service time in this moment. */
            counts: number[];
            /** @description Share of the moment's I/Os by service time, 0 to 1. */
            shares: number[];
            /** @description Number of I/Os by service time in the whole lens. */
            counts_of_all: number[];
            /** @description Share of the lens's I/Os by service time, 0 to 1. */
            shares_of_all: number[];
            /** @description Events around the moment. */
            events: components["schemas"]["MomentEvent"][];
            /**
             * Format: uint64
             * @description Time of the previous spike: a local maximum of p99 before the moment.
             */
            previous_spike_ns: number | null;
            /**
             * Format: uint64
             * @description Time of the next spike: a local maximum of p99 after the moment.
             */
            next_spike_ns: number | null;
        };
        /** @description Event of the run. */
        MomentEvent: {
            /**
             * Format: uint64
             * @description Time on the run's axis, nanoseconds.
             */
            at_ns: number;
            /** @description Kind of the event. */
            kind: string;
            /** @description Event in words. */
            text: string;
        };
        /** @description Copy of a virtual machine's memory to another host, or of its disks to another pool. */
        MoveCopy: {
            /**
             * Format: uint64
             * @description Bytes of memory that were sent, including memory that changed and was sent again.
             */
            bytes: number;
            /**
             * Format: uint64
             * @description Bytes of disks that were copied.
             * @default 0
             */
            disk_bytes: number;
            /**
             * Format: uint32
             * @description Number of rounds of memory while the virtual machine ran.
             */
            rounds: number;
            /**
             * Format: uint64
             * @description Time from the start of the copy until the virtual machine continued on the new host.
             */
            took_ns: number;
        };
        /** @description First step that did not run. */
        NextStep: {
            /**
             * Format: uint32
             * @description Number of tiles.
             */
            tiles: number;
            /**
             * Format: uint32
             * @description Repeat of the step, from 1.
             */
            repeat: number;
        };
        /** @description Infrastructure operations that ran beside the tiles. */
        OperationsFacts: {
            /** @description Name of the operations group in the plan. */
            name: string;
            /** @description SHA-256 of the resolved definitions, in hexadecimal. */
            sha256: string;
            /**
             * Format: uint64
             * @description Bytes of the operations' disks, after scaling. These disks exist once, at any number of
             *     tiles.
             */
            disk_bytes: number;
        };
        /** @description Origin of a plan value. Each origin overrides the ones after it. */
        Origin: "flag" | "env" | "plan" | "config" | "profile" | "default";
        /** @description Time limit that ended a search before the maximum was found. */
        OutOfTime: {
            /**
             * Format: uint64
             * @description Time limit, in nanoseconds.
             */
            time_ns: number;
            /**
             * @description Steps left out because of `--within`, the limit of a simulation's real time; null if the
             *     limit is the budget of the search.
             */
            left_out: components["schemas"]["LeftOut"] | null;
        };
        /** @description View `overview`: the answer, four numbers, findings, and the block sizes. */
        Overview: {
            /** @description Summary of the run, and its effect on users. */
            sentence: string;
            /** @description Cause of the limit or of the latency. */
            cause: string;
            /** @description Verdict: `passed`, `failed`, `inconclusive`, `interrupted`, `running` or `observed`. */
            verdict: string;
            /** @description Four main numbers. */
            heroes: components["schemas"]["Hero"][];
            /** @description Findings, at most three. */
            findings: components["schemas"]["Finding"][];
            /** @description I/O by direction and size class. */
            sizes: components["schemas"]["SizeRow"][];
            /** @description Flushes, which have no size (class 0). The shares of `sizes` and `flushes` add up to 1. */
            flushes: components["schemas"]["SizeRow"] | null;
            /** @description Summary of the sizes. */
            sizes_sentence: string;
        };
        /** @description Part of the model, or several equal parts together. */
        PartFacts: {
            /**
             * @description Name in the array's file, such as `pool lun1`, followed by the kind of part: `pool lun1
             *     disks`.
             */
            name: string;
            /** @description Kind of the part. */
            kind: components["schemas"]["PartKind"];
            /**
             * Format: uint32
             * @description Number of equal parts in this entry.
             */
            count: number;
            /**
             * Format: double
             * @description Mean share of time in which the part's servers were busy, 0 to 1.
             */
            utilisation: number;
            /**
             * Format: double
             * @description Share of time in which the busiest of the equal parts was busy, 0 to 1.
             */
            utilisation_max: number;
            /**
             * Format: double
             * @description I/Os per second, summed over these parts.
             */
            iops: number;
            /**
             * Format: double
             * @description Bytes per second, summed over these parts.
             */
            bytes_per_s: number;
            /**
             * Format: double
             * @description Mean number of waiting or served I/Os, summed over these parts.
             */
            inside: number;
        };
        /** @description Kind of a part of a model. */
        PartKind: "disk" | "tier-disk" | "link" | "queue" | "processor" | "write-memory";
        /** @description Score per kilowatt, in one of the field's categories. */
        PerKilowatt: {
            /** @description Category of the score. */
            category: components["schemas"]["PowerCategory"];
            /** @description Sum of the mean watts of all parts of the category; absent if a part was not measured. */
            mean_watts: components["schemas"]["Figure"];
            /** @description Score divided by `mean_watts` in kilowatts: tiles' worth of work per kilowatt. */
            score_per_kilowatt: components["schemas"]["Figure"];
        };
        /** @description Distribution of one group. */
        PercentileCurve: {
            /** @description Key of the group, as in [`super::Group::key`]. */
            key: string;
            /** @description Name for people. */
            label: string;
            /**
             * Format: uint64
             * @description Number of I/Os.
             */
            count: number;
            /**
             * @description Points from share 0 up to the highest share with at least ten I/Os above it, ascending, and
             *     then the longest time.
             */
            points: components["schemas"]["PercentilePoint"][];
        };
        /** @description A point of a distribution. */
        PercentilePoint: {
            /**
             * Format: double
             * @description Share of I/Os that took at most this long, 0 to 1.
             */
            share: number;
            /**
             * Format: uint64
             * @description Time in nanoseconds.
             */
            value_ns: number;
        };
        /** @description View `percentiles`: distributions of latency, one for each line of the breakdown. */
        Percentiles: {
            /** @description Summary in one sentence. */
            sentence: string;
            /** @description Clock of the times: `service` or `response`. */
            clock: string;
            /** @description Distribution of each group. */
            curves: components["schemas"]["PercentileCurve"][];
        };
        /** @description Phase of a step. */
        Phase: "warm-up" | "measured" | "ramp-down";
        /** @description Hosts of a workload of a tile. All its copies are one entry. */
        PlaceFacts: {
            /**
             * Format: uint32
             * @description Tile, from 0.
             */
            tile: number;
            /** @description Name of the workload. */
            workload: string;
            /** @description Names of the hosts of its virtual machines, each once: `host-1`. */
            hosts: string[];
        };
        /** @description One value of the resolved plan. */
        PlanValue: {
            /** @description Key in the plan: `measure.duration`. */
            key: string;
            /** @description The value as the plan writes it. */
            value: unknown;
            /** @description Origin of the value. */
            origin: components["schemas"]["Origin"];
        };
        /** @description One copy of a replayed load. */
        PlayedTrace: {
            /** @description Workload that replays the trace. */
            workload: string;
            /** @description Path of the trace's file or directory. */
            trace: string;
            /** @description Format of the trace. */
            format: string;
            /** @description VM whose I/O is replayed; absent for the I/O of all VMs. */
            vm?: string | null;
            /** @description Devices of the trace, in the order of the workload's disks. */
            devices: string[];
            /**
             * @description Condition for the start of an I/O. `open`: its time has come. `closed`: the last I/O of the
             *     same sender was answered. `one-at-a-time`: the previous I/O was answered.
             */
            pace: string;
            /** @description Speed of the replay: `1x`, `2x`, `max`. */
            speed: string;
            /**
             * Format: uint64
             * @description Number of I/Os in one copy.
             */
            ios: number;
            /**
             * Format: uint64
             * @description Bytes that the I/Os of one copy read and write.
             */
            bytes: number;
            /**
             * Format: uint64
             * @description Time from the first to the last I/O in the trace, in nanoseconds.
             */
            trace_span_ns: number;
            /**
             * Format: uint64
             * @description Memory that the trace occupies, shared by all copies, in bytes.
             */
            memory_bytes: number;
            /**
             * Format: uint64
             * @description Number of discards in the trace. They are never sent to storage.
             */
            discards: number;
            /**
             * Format: uint64
             * @description Number of reads and writes of zero bytes. They are left out.
             */
            empty: number;
            /**
             * Format: uint64
             * @description Alignment that the storage requires of requests, in bytes.
             */
            unit_bytes: number;
            /**
             * Format: uint64
             * @description Number of I/Os whose start or end was rounded outwards to that alignment.
             */
            rounded: number;
            /**
             * Format: uint64
             * @description Number of I/Os beyond the end of a smaller disk. Each was wrapped to an offset within the
             *     disk.
             */
            folded: number;
            /**
             * Format: uint64
             * @description Number of I/Os that were cut to the maximum size of a request.
             */
            cut: number;
        };
        /**
         * @description Results of an action, from the samples of all tiles of a step together, because percentiles
         *     cannot be averaged.
         */
        PooledAction: {
            /** @description Workload of the action. */
            workload: string;
            /** @description Results over all tiles. */
            result: components["schemas"]["ActionResult"];
        };
        /** @description Limit, checked against the samples of all tiles of a step together. */
        PooledLimit: {
            /** @description Workload of the limit. */
            workload: string;
            /**
             * Format: uint32
             * @description Tile with the largest measured value, from 0; null without samples.
             */
            worst_tile: number | null;
            /** @description Limit, and the value measured over all tiles. */
            result: components["schemas"]["LimitResult"];
        };
        /** @description Category in which benchmarks in the field publish a score. */
        PowerCategory: "performance-only" | "server-power" | "server-and-storage-power";
        /** @description Power policies of the host before and after the run. The program only reads them. */
        PowerPolicies: {
            /** @description Policies before the first step. */
            before: components["schemas"]["PowerPolicy"][];
            /** @description Policies after the last step; empty until the run has ended. */
            after?: components["schemas"]["PowerPolicy"][];
        };
        /** @description Power setting of the host's processors that affects their speed. */
        PowerPolicy: {
            /** @description Name of the policy: `governor`, `turbo`. */
            name: string;
            /**
             * @description Value of the policy. If processors differ, each value is followed by the number of
             *     processors.
             */
            value: string;
        };
        /** @description Filling of the disks. First writes and rewrites differ on thin storage. */
        Prefill: {
            /**
             * Format: uint64
             * @description Bytes that were written once.
             */
            bytes: number;
            /** @description First write of the disks; null if they had been written before. */
            first_write: components["schemas"]["RateFacts"] | null;
            /** @description Second write of a part of the disks; null if it was not measured. */
            rewrite: components["schemas"]["RateFacts"] | null;
            /**
             * Format: uint64
             * @description Bytes of disks that an earlier run had filled.
             * @default 0
             */
            prepared_before_bytes: number;
            /** @description Reason why `first_write` is null, if one is known: `prepared before`. */
            first_write_absent?: string | null;
        };
        /** @description Price divided by the tiles or VMs that were held. */
        PricePer: {
            /**
             * Format: double
             * @description Lowest possible price. Absent if more tiles than were tried might meet the limits.
             */
            low: number | null;
            /**
             * Format: double
             * @description Highest possible price. Absent if no number of tiles surely met the limits.
             */
            high: number | null;
            /** @description Unit of the tag `price`; empty if the tag has none. */
            unit: string;
            /**
             * @description Price as text: `375.00 to 400.00 EUR`.
             * @default
             */
            text: string;
        };
        /** @description Error of a request, as sent to the client. */
        Problem: {
            /** @description Kind, as listed in `docs/serve.md`: `/problems/unknown-run`. */
            type: string;
            /** @description Name of the kind in words. */
            title: string;
            /** @description Error in this request, and the correct form. */
            detail: string;
            /**
             * Format: uint16
             * @description HTTP status of the response, RFC 9110.
             */
            status: number;
        };
        /** @description Amount and speed of a transfer. */
        RateFacts: {
            /**
             * Format: uint64
             * @description Bytes that were moved.
             */
            bytes: number;
            /**
             * Format: uint64
             * @description Duration, in nanoseconds.
             */
            duration_ns: number;
            /**
             * Format: double
             * @description Mean speed, in bytes per second.
             */
            bytes_per_s: number;
            /** @description Latency of the I/Os, if it was recorded. */
            service?: components["schemas"]["Latency"] | null;
        };
        /** @description Origin of a reference value. */
        ReferenceOrigin: "declared" | "ideal-storage" | "none";
        /** @description Question without an answer. */
        Remark: {
            /** @description Subject of the question. */
            what: string;
            /** @description Reason why there is no answer. */
            why: string;
        };
        /** @description Replay of recorded loads in a step. */
        ReplayFacts: {
            /** @description Recorded loads of the tile. */
            traces: components["schemas"]["PlayedTrace"][];
            /**
             * Format: uint32
             * @description Number of replayed copies: one in each tile.
             */
            copies: number;
            /**
             * Format: uint32
             * @description Number of copies that were replayed up to the last answer.
             */
            ended: number;
            /**
             * Format: uint64
             * @description Time from the start to the last completion of the slowest copy, in nanoseconds; null if no
             *     copy was replayed to the end.
             */
            elapsed_ns: number | null;
            /**
             * Format: uint64
             * @description Number of submitted I/Os of all copies.
             */
            submitted: number;
            /**
             * @description Delay of submissions after their due times, whatever the cause. Without samples in a
             *     simulation, which is never late.
             */
            submission_error: components["schemas"]["Latency"];
            /**
             * Format: uint64
             * @description Number of I/Os that were submitted more than 1 ms after their due time.
             */
            late_1ms: number;
        };
        /** @description Steps with another disk size than the run's own steps. */
        Resized: {
            /**
             * @description True if these steps were the search, and the run's own steps confirmed its result with
             *     larger disks. False if these steps had the larger disks, and decided nothing.
             */
            is_search: boolean;
            /**
             * Format: double
             * @description Factor applied to disk sizes in these steps.
             */
            footprint: number;
            /**
             * Format: uint64
             * @description Bytes of one tile's disks.
             */
            tile_bytes: number;
            /**
             * Format: uint32
             * @description Largest number of tiles at which the search found all limits met.
             */
            held: number;
            /**
             * Format: uint32
             * @description Smallest number of tiles above `held` that failed.
             */
            failed: number;
            /**
             * @description Steps in the order in which they ran. Their step numbers are not used by the run's own
             *     steps.
             */
            steps: components["schemas"]["Step"][];
        };
        /** @description Kind of a resource that can be at its limit. */
        Resource: "disk" | "tier" | "link" | "controller" | "queue" | "host-cpu" | "vm-cpu" | "device" | "flush" | "generator" | "capacity" | "none-seen";
        /** @description One run: its question, progress and results. `run.json` is this document. */
        Run: {
            /** @description Name and version of this format: `tilemark.run/1.0`. Minor versions only add fields. */
            schema: string;
            /** @description Identifier of the run, which is also the name of its directory. */
            id: string;
            /** @description Name, tags and note that a user gave the run; absent without any. */
            labels?: components["schemas"]["Labels"];
            /** @description Start of the run (RFC 3339, UTC). */
            started: string;
            /** @description End of the run (RFC 3339, UTC); null while it runs. */
            ended: string | null;
            /** @description Version of the program that measured. */
            tool: components["schemas"]["ToolFacts"];
            /**
             * Format: uint64
             * @description Seed of every random stream of the run.
             */
            seed: number;
            /** @description Name and version of the random generator, so that a seed keeps its meaning. */
            random_generator: string;
            /** @description `quick`, `standard` or `full`. */
            profile: string;
            /** @description Target that was measured. */
            target: components["schemas"]["TargetFacts"];
            /** @description Tile that the run used as load. */
            tile: components["schemas"]["TileFacts"];
            /** @description Scale factors of the tile. */
            scale: components["schemas"]["ScaleFacts"];
            /** @description Settings of the load generator. */
            engine: components["schemas"]["EngineFacts"];
            /** @description Hosts that drove the load; empty if only the host that wrote this file drove it. */
            hosts?: components["schemas"]["LoadHost"][];
            /** @description Power meters that were read during the run; empty without any. */
            meters?: components["schemas"]["MeterFacts"][];
            /** @description Power policies of this host; absent if they were not asked for. */
            power_policies?: components["schemas"]["PowerPolicies"] | null;
            /** @description SHA-256 of `plan.toml`, in hexadecimal. */
            plan_sha256: string;
            /** @description All values of the resolved plan, with their origins. */
            plan: components["schemas"]["PlanValue"][];
            /** @description Filling of the disks; null if they had been filled before. */
            prefill: components["schemas"]["Prefill"] | null;
            /** @description All steps, in the order in which they ran. */
            steps: components["schemas"]["Step"][];
            /** @description Steps with disks of another size; absent if all disks had one size. */
            resized?: components["schemas"]["Resized"] | null;
            /** @description Answer of the run. */
            answer: components["schemas"]["Answer"];
            /** @description Expectations and their results; empty without expectations, and until the run has ended. */
            expectations?: components["schemas"]["Expected"][];
            /** @description Warnings that concern how far the numbers can be trusted. */
            warnings: components["schemas"]["Warning"][];
        };
        /** @description Source of a run's numbers. */
        RunKind: "measured" | "simulated" | "replayed" | "recorded" | "watched" | "sample";
        /** @description Answer of `GET /api/v1/runs`: stored runs, newest first. */
        RunList: {
            /** @description Directory that was listed. */
            base: string;
            /** @description Stored runs, or a sample run if there is none. */
            runs: components["schemas"]["RunRow"][];
        };
        /** @description Answer of `GET /api/v1/runs/{id}`: everything that does not depend on the lens. */
        RunPage: {
            /** @description Row in the list of runs. */
            row: components["schemas"]["RunRow"];
            /**
             * @description Answer in parts; none while the run is in progress, and for observed I/O.
             * @default null
             */
            headline: components["schemas"]["Headline"] | null;
            /**
             * @description Warnings of the run and its steps, folded.
             * @default []
             */
            warnings: components["schemas"]["FoldedWarning"][];
            /**
             * @description Facts about the measurement; empty without `run.json`.
             * @default []
             */
            facts: components["schemas"]["Fact"][];
            /** @description Content of `run.json`; none if it could not be read yet. */
            run: components["schemas"]["Run"] | null;
            /** @description Content of `env.json`. */
            environment: unknown;
            /** @description Content of `preflight.json`. */
            preflight: unknown;
            /** @description Text of `plan.toml`. */
            plan: string | null;
            /** @description Text of `SHA256SUMS`; none while the run is in progress. */
            checksums: string | null;
            /** @description Values that a view of the run can be filtered by, and the kinds of data that the run has. */
            dimensions: components["schemas"]["Dimensions"];
            /** @description Steps on the run's axis, in the order in which they ran. */
            steps: components["schemas"]["StepSpan"][];
            /**
             * Format: uint64
             * @description End of the run's axis, nanoseconds.
             */
            end_ns: number;
            /**
             * Format: uint64
             * @description Finest resolution of time, nanoseconds.
             */
            slice_ns: number;
            /** @description Live state, while the run is in progress. */
            live: components["schemas"]["LiveState"] | null;
        };
        /** @description A row in the list of runs. */
        RunRow: {
            /** @description Identifier of the run, as in paths. */
            id: string;
            /** @description Source of the run's numbers. */
            kind: components["schemas"]["RunKind"];
            /** @description State of the run. */
            state: components["schemas"]["RunState"];
            /**
             * @description Status: `complete`, `ended-early`, `interrupted` or `inconclusive`; none while the run is in
             *     progress.
             */
            status: string | null;
            /** @description Start of the run, RFC 3339, UTC. */
            started: string;
            /**
             * Format: uint64
             * @description Time under load, nanoseconds.
             */
            duration_ns: number;
            /** @description Name of the tile or of the trace. */
            tile: string;
            /** @description Description of the target in one line. */
            target: string;
            /** @description Answer in one sentence. */
            sentence: string;
            /**
             * Format: uint32
             * @description Largest number of tiles at which all limits were met, if the run searched for it.
             */
            tiles_held: number | null;
            /**
             * @description The same number with its interval, as text: `26 to 29 tiles`, `at least 8 tiles`.
             * @default null
             */
            tiles: string | null;
            /**
             * @description Profile: `quick`, `standard`, `full`; none for observed I/O.
             * @default null
             */
            profile: string | null;
            /**
             * @description Scaling: `disks 1/512`; none at full size.
             * @default null
             */
            scale: string | null;
            /**
             * Format: uint32
             * @description Number of steps that other work disturbed.
             * @default 0
             */
            disturbed_steps: number;
            /**
             * Format: double
             * @description The score, if there is one.
             */
            score: number | null;
            /**
             * Format: uint64
             * @description Size of the directory, in bytes.
             */
            size_bytes: number;
            /** @description I/Os per second over the run, at most 60 points, each the mean of its interval. */
            spark: number[];
            /** @description Reason why the run cannot be read; none if it can. */
            error: string | null;
        };
        /** @description Completeness of a run's files, or the progress of the run. */
        RunState: "complete" | "running" | "abandoned";
        /**
         * @description Several runs side by side, each compared with the first: answer of `GET
         *     /api/v1/trend?run=ID&run=ID` and of `tilemark runs trend --format json`.
         */
        RunsTrend: {
            /** @description Name and version of the document: `tilemark.runs-trend/1.1`. */
            schema: string;
            /** @description Result in one sentence. */
            sentence: string;
            /** @description Runs, oldest first. */
            runs: components["schemas"]["TrendRow"][];
            /** @description Figures by number of tiles, for small diagrams. */
            figures: components["schemas"]["TrendFigure"][];
        };
        /** @description Scale factors of the tile. */
        ScaleFacts: {
            /**
             * Format: double
             * @description Factor applied to disk sizes; 1 is full size.
             */
            footprint: number;
            /**
             * Format: double
             * @description Factor applied to schedule times (bursts, phases, drift); 1 is real time.
             */
            time: number;
        };
        /** @description Score of a step, in tiles' worth of work. */
        Score: {
            /** @description Definition of `total`, in a sentence. */
            definition: string;
            /** @description Score of each tile. */
            tiles: components["schemas"]["TileScore"][];
            /** @description Sum of the tiles' geometric means. */
            applications: components["schemas"]["Figure"];
            /**
             * @description Geometric mean over the infrastructure operations of work divided by reference; absent if
             *     none ran.
             */
            infrastructure: components["schemas"]["Figure"];
            /** @description Score: 0.8 x `applications` + 0.2 x `infrastructure`; absent without `infrastructure`. */
            total: components["schemas"]["Figure"];
            /** @description Confidence interval of `total`, or of `applications` if there is no total; null without one. */
            interval: components["schemas"]["Interval"] | null;
        };
        /**
         * @description View `series`: a measure over time by a breakdown, decimated to the requested number of points.
         *     The views `actions` and `calls` show the same for actions and for calls to endpoints. There
         *     `iops` counts actions or calls, in `actions_per_s` and `call_per_s`, and the time of an action
         *     is its response time.
         */
        Series: {
            /** @description Summary in one sentence. */
            sentence: string;
            /** @description Measure: `iops`, `bytes` (per second) or `latency`. */
            measure: string;
            /** @description Unit: `io_per_s`, `actions_per_s`, `call_per_s`, `bytes_per_s` or `ns`. */
            unit: string;
            /** @description Begin of each point on the run's axis, nanoseconds. */
            at_ns: number[];
            /** @description Length of each point, nanoseconds. */
            width_ns: number[];
            /** @description Lines, in the breakdown's order. */
            groups: components["schemas"]["Group"][];
            /** @description Number of I/Os of all lines in each point. */
            count: number[];
            /** @description I/Os of all lines per second of time under load. */
            operations_per_s: number[];
            /**
             * Format: uint64
             * @description Limit for latencies, if there is a limit on I/O.
             */
            limit_ns: number | null;
            /**
             * Format: uint32
             * @description Number of groups that were left out because there are too many; groups with the least I/O
             *     are left out first.
             */
            left_out: number;
        };
        /** @description Storage protocol between the load and the datastore, with its server and initiator. */
        ServedOver: {
            /** @description Short name of the protocol: `nbd`, `iscsi`, `nfs3`, `nfs4` or `nvme-tcp`. */
            protocol: string;
            /** @description Program that served the disks. */
            server: string;
            /** @description Version that the server reported. */
            server_version: string;
            /** @description Program or library that was the initiator. */
            initiator: string;
            /** @description Version of the initiator's program. */
            initiator_version: string;
            /** @description Hops between the load and the server, in words. */
            hop: string;
            /** @description Network between initiator and server, in words. */
            network: string;
        };
        /** @description Tier that was served on the load-driving host, in front of the datastore. */
        ServedTier: {
            /** @description Storage of the cache, as given by the user. */
            datastore: string;
            /** @description Description of the storage in one line. */
            summary: string;
            /**
             * @description Mode of the tier. With `through`, a write is answered once the datastore has it; with
             *     `back`, once the tier's log has it.
             */
            mode: string;
            /**
             * Format: uint64
             * @description Capacity for pages and logs together, in bytes.
             */
            size_bytes: number;
            /**
             * Format: uint64
             * @description Size of a page, in bytes.
             */
            page_bytes: number;
            /**
             * Format: uint8
             * @description Share of the capacity for logs, in percent.
             */
            log_percent: number;
            /** @description Eviction policy of pages. */
            policy: string;
            /**
             * Format: uint8
             * @description Number of the access at which a page is admitted, from 1.
             */
            admission: number;
        };
        /** @description Working sets of one span at the end of each point. */
        SetSpanLines: {
            /** @description Span that each set covers: `1h`, `1d` or `7d`. */
            span: string;
            /** @description Distinct bytes that were read. */
            read_bytes: (number | null)[];
            /** @description Distinct bytes that were written. */
            written_bytes: (number | null)[];
            /** @description Distinct bytes that were read or written. */
            used_bytes: (number | null)[];
            /** @description Standard error of `used_bytes`, as a share of `used_bytes`. */
            error: (number | null)[];
            /** @description True where there is data for the whole span. */
            is_whole: (boolean | null)[];
        };
        /** @description I/O of one size class and direction. */
        SizeRow: {
            /** @description Direction: `read` or `write`; `flush` in [`Overview::flushes`]. */
            direction: string;
            /**
             * Format: uint8
             * @description Position of the size class, 0 to 7, smallest first.
             */
            class: number;
            /**
             * Format: uint64
             * @description Number of I/Os.
             */
            count: number;
            /**
             * Format: uint64
             * @description Number of bytes.
             */
            bytes: number;
            /**
             * Format: double
             * @description Share of all I/Os in the lens, 0 to 1.
             */
            share_of_count: number;
            /**
             * Format: double
             * @description Share of all bytes in the lens, 0 to 1.
             */
            share_of_bytes: number;
            /**
             * Format: uint64
             * @description Sum of all service times, nanoseconds.
             */
            wait_ns: number;
            /**
             * Format: double
             * @description Share of all waiting in the lens, 0 to 1: the contribution to slowness.
             */
            share_of_wait: number;
            /**
             * Format: uint64
             * @description Median service time, nanoseconds; none without I/O.
             */
            p50_ns: number | null;
            /**
             * Format: uint64
             * @description 95th percentile of the service time, nanoseconds.
             */
            p95_ns: number | null;
            /**
             * Format: uint64
             * @description 99th percentile of the service time, nanoseconds.
             */
            p99_ns: number | null;
            /**
             * Format: uint64
             * @description Longest service time, nanoseconds.
             */
            max_ns: number | null;
        };
        /**
         * @description Statistic that is compared with a limit. In files and on screens: `p95`, `p99.9`, `mean` or
         *     `max`.
         */
        Statistic: string;
        /** @description State of the answer. */
        Status: "complete" | "interrupted" | "inconclusive";
        /** @description Result of the check that the measured time was in steady state. */
        Steady: {
            /** @description Rule that defines the steady state. */
            rule: string;
            /** @description True if the rule was met; null if there was too little data. */
            reached: boolean | null;
            /** @description Values that the rule was applied to, in words. */
            detail: string;
        };
        /** @description One repeat of one step of the ladder. */
        Step: {
            /**
             * Format: uint32
             * @description Step of the ladder, from 1, in the order in which the ladder visited tile counts. `step` and
             *     `repeat` together are the key of the step in the series.
             */
            step: number;
            /**
             * Format: uint32
             * @description Repeat of the step, from 1.
             */
            repeat: number;
            /**
             * Format: uint32
             * @description Number of this entry among all that ran, from 1.
             */
            order: number;
            /**
             * Format: uint32
             * @description Number of tiles that ran at the same time.
             */
            tiles: number;
            /**
             * Format: uint32
             * @description Number of virtual machines in those tiles.
             */
            vms: number;
            /** @description Start of the step's load (RFC 3339, UTC). Times of its rows in the series count from here. */
            started: string;
            /** @description Combined verdict on all limits. */
            verdict: components["schemas"]["Verdict"];
            /** @description Reason for the verdict, in a sentence. */
            reason: string;
            /** @description Reason for the verdict, for programs; absent in runs of earlier versions. */
            cause?: components["schemas"]["Cause"] | null;
            /** @description Disturbances by other programs or users of the same storage, whatever the verdict. */
            disturbances?: components["schemas"]["Disturbance"][];
            /** @description Resource at its limit, or closest to it; absent in runs of earlier versions. */
            bottleneck?: components["schemas"]["Bottleneck"] | null;
            /**
             * @description Causes of waiting in the action whose limit was exceeded, sorted by share, largest first;
             *     empty if no limit was exceeded.
             */
            waits?: components["schemas"]["Wait"][];
            /**
             * @description Gauges of the host, devices, the model and meters over the measured time; empty if none were
             *     read. Runs of earlier versions have gauges of the host only.
             */
            gauges?: components["schemas"]["Gauge"][];
            /** @description Warm-up of the step. */
            warm_up: components["schemas"]["WarmUp"];
            /**
             * @description Result of the check that the measured time was in steady state; absent in runs of earlier
             *     versions.
             */
            steady?: components["schemas"]["Steady"] | null;
            /**
             * Format: uint64
             * @description Duration of the measured time, in nanoseconds.
             */
            measured_ns: number;
            /** @description Results of each workload. */
            workloads: components["schemas"]["WorkloadResult"][];
            /**
             * @description Each limit, checked against the samples of all tiles together. These results decide the
             *     step; the limits in `workloads` are for one tile each.
             * @default []
             */
            limits: components["schemas"]["PooledLimit"][];
            /**
             * @description Each action, with the samples of all tiles together. The actions in `workloads` are for one
             *     tile each.
             */
            actions?: components["schemas"]["PooledAction"][];
            /** @description I/O in the measured time, by direction. */
            io: components["schemas"]["IoTotal"][];
            /** @description Calls in the measured time, by workload and kind; empty without calls. */
            calls?: components["schemas"]["CallTotal"][];
            /** @description Work per second in the measured time. */
            throughput: components["schemas"]["Throughput"];
            /** @description Score of the step; null if none could be computed. */
            score: components["schemas"]["Score"] | null;
            /** @description Power in the measured time; absent without a meter. */
            power?: components["schemas"]["StepPower"] | null;
            /** @description State of the load generator; a saturated generator makes the step inconclusive. */
            generator: components["schemas"]["GeneratorHealth"];
            /** @description Share of each host in the step; empty unless several drove the load. */
            hosts?: components["schemas"]["HostStep"][];
            /** @description Effect of infrastructure operations on the tiles; absent if none ran. */
            under_operations?: components["schemas"]["UnderOperations"] | null;
            /** @description Events of hosts, sorted by start; empty without events. */
            events?: components["schemas"]["StepEvent"][];
            /** @description Consistency checks of the measurement. */
            checks: components["schemas"]["Check"][];
            /** @description Warnings that concern how far the step's numbers can be trusted. */
            warnings: components["schemas"]["Warning"][];
            /** @description State of the modelled parts. On real storage, absent or with the host only. */
            model?: components["schemas"]["ModelFacts"] | null;
            /** @description Replay of recorded loads, with its timing accuracy; absent without a replay. */
            replay?: components["schemas"]["ReplayFacts"] | null;
        };
        /**
         * @description Event of a host while a step ran. Times are in nanoseconds from the start of the step, as in the
         *     series. They are by the controller's clock unless noted otherwise.
         */
        StepEvent: {
            /** @description Kind of the event. */
            kind: components["schemas"]["StepEventKind"];
            /** @description Host that the event affected; absent if tiles were moved to spread them evenly. */
            host?: string | null;
            /**
             * Format: uint64
             * @description Planned time, from the start of the measured time; absent for unplanned events.
             */
            planned_ns?: number | null;
            /**
             * Format: uint64
             * @description Start of the event: the time of the order or, for a lost host, of its last sign of life.
             */
            began_ns: number;
            /**
             * Format: uint64
             * @description End of the event: the time at which the last tile, or the host, continued. Absent if that
             *     never happened.
             */
            ended_ns?: number | null;
            /**
             * Format: uint64
             * @description Time at which the loss of the host was detected.
             */
            noticed_ns?: number | null;
            /**
             * Format: uint64
             * @description Time from the last sign of life to the detection.
             */
            detection_ns?: number | null;
            /** @description Moves and stops of the affected tiles; in a simulation, of the affected virtual machines. */
            tiles: components["schemas"]["TileMove"][];
            /**
             * Format: uint64
             * @description Acknowledged writes that were lost with the host, in bytes, because no copy was left. Only
             *     in a simulation; absent if nothing was lost.
             */
            lost_bytes?: number | null;
            /** @description Effect on the tiles of the other hosts; absent if there are no such tiles. */
            survivors?: components["schemas"]["Survivors"] | null;
            /** @description Note for the reader; absent without one. */
            note?: string | null;
        };
        /** @description Kind of a host event. */
        StepEventKind: "lose-host" | "stop-host" | "rebalance" | "drain" | "host-lost";
        /** @description Power in the measured time of a step. */
        StepPower: {
            /** @description Energy of each meter. */
            meters: components["schemas"]["MeterEnergy"][];
            /** @description Score of the step per kilowatt. */
            per_kilowatt: components["schemas"]["PerKilowatt"][];
        };
        /** @description A phase of a step on the run's axis. */
        StepSpan: {
            /**
             * Format: uint32
             * @description Number of the step in the ladder, from 1.
             */
            step: number;
            /**
             * Format: uint32
             * @description Number of the repeat, from 1.
             */
            repeat: number;
            /**
             * Format: uint32
             * @description Number of tiles of the step.
             */
            tiles: number;
            /** @description Phase of the step. */
            phase: components["schemas"]["Phase"];
            /**
             * Format: uint64
             * @description Begin on the run's axis, nanoseconds.
             */
            from_ns: number;
            /**
             * Format: uint64
             * @description End on the run's axis, nanoseconds.
             */
            to_ns: number;
            /** @description Verdict of the step; none while it runs. */
            verdict: components["schemas"]["Verdict"] | null;
        };
        /** @description Result of the first step above `tiles_held` that did not pass. */
        Stop: {
            /** @constant */
            what: "limit";
            /**
             * Format: uint32
             * @description Number of tiles in the failed step.
             */
            tiles: number;
        } | {
            /** @constant */
            what: "flat";
            /**
             * Format: uint32
             * @description Smallest tested number of tiles that adds no work.
             */
            tiles: number;
            /**
             * Format: double
             * @description Work that one more tile adds at that number, as a share of a single tile's work. It is
             *     read from the curve fitted through all steps; it may be negative.
             */
            gain: number;
        } | {
            /** @constant */
            what: "inconclusive";
            /**
             * Format: uint32
             * @description Number of tiles in the inconclusive step.
             */
            tiles: number;
        };
        /** @description A claim of the study. */
        StudyClaim: {
            /** @description Identifier of the claim: `A5-one`. */
            id: string;
            /** @description Kind: `predicted`, `calibrated`, `input` or `arithmetic`; only predicted claims count. */
            kind: string;
            /** @description Published value, as text. */
            published: string;
            /** @description Our value, with its interval. */
            ours: string;
            /** @description Allowed difference between published value and our value. */
            tolerance: string;
            /** @description Outcome: `met`, `not-met` or `not-measured`. */
            outcome: string;
            /** @description Outcome in words: `yes, by the mean`. */
            outcome_text: string;
            /**
             * @description True if only the mean meets the claim: the interval reaches beyond the tolerance.
             * @default false
             */
            is_by_mean: boolean;
            /**
             * @description Reason why the claim is not met or not measured, if the study has one; none if it is met.
             * @default null
             */
            why: string | null;
            /** @description Statement of the source that is the claim. */
            text: string;
        };
        /** @description Answer of `GET /api/v1/studies`: published claims, compared with the models. */
        StudyList: {
            /** @description Results of this host first, newest first; then all shipped studies, by name. */
            studies: components["schemas"]["StudyRow"][];
        };
        /**
         * @description Answer of `GET /api/v1/studies/{name}`: a study's claims, with the published values and ours.
         *     All cells are texts with units, as `tilemark study run` prints them.
         */
        StudyPage: {
            /** @description Row in the list of studies. */
            row: components["schemas"]["StudyRow"];
            /** @description Program, seed and definitions that made the result, and the command. */
            made_by: string;
            /** @description Paragraphs on the reproduced work, our differences from it, and fitted values. */
            notes: string[];
            /** @description Guide to reading the claims. */
            claims_note: string;
            /**
             * @description Number of met claims of each kind: predicted claims, which decide, first, then in order of
             *     appearance.
             */
            tallies: components["schemas"]["StudyTally"][];
            /** @description Every claim, in the study's order. */
            claims: components["schemas"]["StudyClaim"][];
            /** @description More findings: tables of figures, sources. */
            sections: components["schemas"]["StudySection"][];
        };
        /** @description A row in the list of studies. */
        StudyRow: {
            /** @description Name of the study, as in paths; for a result of this host the result's identifier. */
            name: string;
            /**
             * @description True for a result of this host, false for a shipped page.
             * @default false
             */
            is_own: boolean;
            /**
             * @description Time at which a result of this host was made, RFC 3339, UTC; none for a shipped page.
             * @default null
             */
            made: string | null;
            /** @description Title of the study. */
            title: string;
            /** @description Number of met claims, by kind, in one sentence. */
            sentence: string;
            /**
             * Format: uint32
             * @description Number of claims.
             */
            claims: number;
        };
        /** @description A section below the claims. */
        StudySection: {
            /** @description Heading of the section. */
            title: string;
            /** @description Paragraphs of the section. */
            paragraphs: string[];
            /** @description Headings of the table's columns; empty without a table. */
            columns: string[];
            /** @description Rows of the table, one cell for each column. */
            rows: string[][];
        };
        /** @description Claims of one kind. */
        StudyTally: {
            /** @description Kind: `predicted`, `calibrated`, `input` or `arithmetic`. */
            kind: string;
            /**
             * Format: uint32
             * @description Number of claims.
             */
            claims: number;
            /**
             * Format: uint32
             * @description Number of claims with an outcome.
             */
            measured: number;
            /**
             * Format: uint32
             * @description Number of claims that are met.
             */
            met: number;
        };
        /**
         * @description Response times of the unaffected tiles during an event, compared with the time before. Each kind
         *     of work is compared with itself.
         */
        Survivors: {
            /** @description Unaffected tiles, from 0. */
            tiles: number[];
            /**
             * Format: uint64
             * @description Number of their I/Os and calls in the measured time before the event. Times of other events
             *     are left out.
             */
            samples_before: number;
            /**
             * Format: uint64
             * @description Number of their I/Os and calls during the event. It covers every slice that overlaps the
             *     event, at least five slices.
             */
            samples_during: number;
            /**
             * @description Mean response time during the event, divided by the mean of the same mix of I/Os and calls
             *     before the event; 1 is unchanged.
             */
            times: components["schemas"]["Figure"];
            /**
             * @description Lower end of the confidence interval of `times`, by resampling slices; absent with too few
             *     slices.
             */
            low: components["schemas"]["Figure"];
            /**
             * @description Upper end of the confidence interval of `times`, by resampling slices; absent with too few
             *     slices.
             */
            high: components["schemas"]["Figure"];
        };
        /** @description Target that was measured. */
        TargetFacts: {
            /** @description Datastore as given by the user: `dir:/mnt/array`. */
            datastore: string;
            /** @description `directory`, `file`, `block-device`, or [`SIMULATED`]. */
            kind: string;
            /** @description Description in one line: `ext4 on nvme0n1 (Samsung SSD 990, 1.8 TiB)`. */
            summary: string;
            /**
             * Format: uint64
             * @description Bytes that the run was allowed to use.
             */
            capacity_bytes: number | null;
            /**
             * Format: uint64
             * @description Total size of the virtual disks that the run created, in bytes.
             */
            provisioned_bytes: number | null;
            /** @description SHA-256 of the model `array.toml`, in hexadecimal; absent for real storage. */
            array_sha256?: string | null;
            /** @description Second datastore. The disks on it are included in `provisioned_bytes` of the first. */
            second?: components["schemas"]["TargetFacts"] | null;
            /** @description Tier on this host through which the disks were accessed. */
            tier?: components["schemas"]["ServedTier"] | null;
            /** @description Storage protocol through which the disks were accessed. */
            over?: components["schemas"]["ServedOver"] | null;
        };
        /** @description Work per second in the measured time, summed over all tiles. */
        Throughput: {
            /**
             * Format: double
             * @description Successful I/Os per second, all directions.
             */
            operations_per_s: number;
            /**
             * Format: double
             * @description Bytes per second, all directions.
             */
            bytes_per_s: number;
            /**
             * Format: double
             * @description Completed actions per second, all workloads.
             */
            actions_per_s: number;
        };
        /** @description State of a tier, with its requests and bytes in the measured time. */
        TierFacts: {
            /** @description Name of the tier. */
            name: string;
            /**
             * Format: uint64
             * @description Capacity for data, in bytes.
             */
            capacity_bytes: number;
            /**
             * Format: uint64
             * @description Bytes of resident pages at the end.
             */
            resident_bytes: number;
            /**
             * Format: uint64
             * @description Bytes that only the tier had at the end.
             */
            dirty_bytes: number;
            /**
             * Format: uint64
             * @description Largest value of `dirty_bytes` at the end of any second.
             */
            dirty_bytes_max: number;
            /**
             * Format: uint64
             * @description Number of read requests.
             */
            reads: number;
            /**
             * Format: uint64
             * @description Number of read requests whose pages were all resident.
             */
            read_hits: number;
            /**
             * Format: uint64
             * @description Bytes of read requests.
             */
            read_bytes: number;
            /**
             * Format: uint64
             * @description Bytes read from resident pages.
             */
            read_hit_bytes: number;
            /**
             * Format: uint64
             * @description Number of write requests.
             */
            writes: number;
            /**
             * Format: uint64
             * @description Number of write requests whose pages were all resident.
             */
            write_hits: number;
            /**
             * Format: uint64
             * @description Bytes of write requests.
             */
            write_bytes: number;
            /**
             * Format: uint64
             * @description Bytes written to resident pages.
             */
            write_hit_bytes: number;
            /**
             * Format: uint64
             * @description Number of writes that the tier answered alone.
             */
            writes_absorbed: number;
            /**
             * Format: uint64
             * @description Number of read hits that another host's tier served.
             */
            remote_hits: number;
            /**
             * Format: uint64
             * @description Number of read hits in the memory cache above the pages; only for a served tier.
             * @default 0
             */
            memory_hits: number;
            /**
             * Format: uint64
             * @description Bytes of the blocks in that memory cache at the end, uncompressed.
             * @default 0
             */
            memory_held_bytes: number;
            /**
             * Format: uint64
             * @description Memory that these blocks occupied, in bytes.
             * @default 0
             */
            memory_taken_bytes: number;
            /**
             * Format: uint64
             * @description Bytes of pages that were filled from the storage on reads.
             */
            filled_bytes: number;
            /**
             * Format: uint64
             * @description Bytes of pages that writes filled completely.
             */
            placed_bytes: number;
            /**
             * Format: uint64
             * @description Bytes of pages that were evicted.
             */
            evicted_bytes: number;
            /**
             * Format: uint64
             * @description Bytes that were destaged to the storage.
             */
            destaged_bytes: number;
            /**
             * Format: uint64
             * @description Bytes written to the tier's own storage, for whatever reason.
             */
            tier_written_bytes: number;
            /**
             * @description The part of the requests that copied whole disks (deployments, migrations). Null if there
             *     were none, and for a served tier.
             */
            copies?: components["schemas"]["CopyCounts"] | null;
            /**
             * Format: double
             * @description Share of all requests that the tier answered alone, 0 to 1; null without requests.
             */
            acceleration_rate: number | null;
        };
        /** @description A main number, with its proof. */
        TierHero: {
            /** @description Name of the number. */
            label: string;
            /** @description Number as it is printed, with its unit; or the reason why there is none. */
            text: string;
            /**
             * Format: double
             * @description Value of the number, unscaled.
             */
            value: number | null;
            /** @description Unit of the number. */
            unit: string;
            /**
             * Format: uint64
             * @description Number of samples.
             */
            samples: number | null;
            /** @description Time that the number applies to, and the value that it is compared with. */
            note: string;
            /** @description Values over time for the sparkline, at most 60 points. */
            spark: (number | null)[];
        };
        /** @description View `tier`: activity of acceleration tiers. */
        TierPage: {
            /** @description Summary of the tiers, or the reason why there is nothing to show. */
            sentence: string;
            /** @description True if a tier took part. */
            is_present: boolean;
            /** @description True if the tiers are modelled. */
            is_modelled: boolean;
            /**
             * @description Four numbers: reads served by the tier, bytes kept off the backing store, writes
             *     acknowledged early, latency saved.
             */
            heroes: components["schemas"]["TierHero"][];
            /** @description Values of each tier over time. */
            tiers: components["schemas"]["TierSeries"][];
            /** @description Sums of each step. */
            steps: components["schemas"]["TierSteps"][];
        };
        /** @description Rates of a tier, per second of time under load. Each list has one entry per point. */
        TierRates: {
            /** @description Page reads. */
            reads_per_s: number[];
            /** @description Reads served by the own host's part of the tier, from pages or log. */
            own_hits_per_s: number[];
            /** @description Reads served by the memory cache above the pages. */
            memory_hits_per_s: number[];
            /** @description Reads served by another host's part of the tier. */
            remote_hits_per_s: number[];
            /** @description Reads that the tier did not serve. */
            misses_per_s: number[];
            /** @description Page writes. */
            writes_per_s: number[];
            /** @description Bytes brought in by reads. */
            filled_bytes_per_s: number[];
            /** @description Bytes brought in by writes. */
            placed_bytes_per_s: number[];
            /** @description Bytes of pages that were evicted. */
            evicted_bytes_per_s: number[];
            /** @description Bytes written to the backing store. */
            destaged_bytes_per_s: number[];
        };
        /**
         * @description I/Os that a tier of 64 KiB pages would serve: LRU, write-back, every page admitted, empty at
         *     first. An I/O is served if all its pages are in the tier. In a sample of pages (`sampled_share`
         *     below 1) each page of an I/O counts separately.
         */
        TierRow: {
            /** @description Name of the VM, or `all`. */
            vm: string;
            /**
             * Format: uint64
             * @description Size of the tier, bytes.
             */
            tier_bytes: number;
            /**
             * Format: double
             * @description Share of reads that the tier serves without the storage behind it.
             */
            reads_served: number | null;
            /**
             * Format: double
             * @description Share of all I/Os that the tier serves without the storage behind it.
             */
            io_served: number | null;
            /**
             * Format: double
             * @description Lower end of the 95 % interval of `reads_served`, from its differences between blocks of
             *     time; none if too little time was recorded.
             * @default null
             */
            reads_served_low: number | null;
            /**
             * Format: double
             * @description Upper end of the interval of `reads_served`.
             * @default null
             */
            reads_served_high: number | null;
            /**
             * Format: double
             * @description Lower end of the 95 % interval of `io_served`.
             * @default null
             */
            io_served_low: number | null;
            /**
             * Format: double
             * @description Upper end of the interval of `io_served`.
             * @default null
             */
            io_served_high: number | null;
            /**
             * Format: double
             * @description Bytes written to the tier.
             */
            tier_written_bytes: number;
            /**
             * Format: uint64
             * @description Number of simulated page references.
             */
            references: number;
            /**
             * Format: double
             * @description Share of the pages that were sampled; 1 means exact.
             */
            sampled_share: number;
        };
        /** @description A tier over time. Each list has one entry per point. */
        TierSeries: {
            /** @description Name of the tier. */
            name: string;
            /**
             * Format: uint64
             * @description Capacity of the tier, bytes.
             */
            capacity_bytes: number;
            /** @description Write policy of the tier, if known. */
            policy: components["schemas"]["WritePolicy"] | null;
            /** @description Begin of each point, nanoseconds on the run's axis. */
            at_ns: number[];
            /** @description Length of each point, nanoseconds. */
            width_ns: number[];
            /** @description Number of page reads. */
            reads: number[];
            /** @description Number of reads that the tier served. */
            read_hits: number[];
            /** @description Share of the reads that the tier served, 0 to 1; none without reads. */
            read_hit_share: (number | null)[];
            /** @description Number of tier reads that were served by another host's part of the tier. */
            remote_hits: number[];
            /** @description Number of reads served by the own host's memory cache above the pages. */
            memory_hits: number[];
            /** @description Number of page writes. */
            writes: number[];
            /** @description Number of writes that the tier acknowledged before the backing store had them. */
            writes_absorbed: number[];
            /**
             * @description Share of the writes that the tier acknowledged before the backing store had them, 0 to 1;
             *     none without writes.
             */
            writes_absorbed_share: (number | null)[];
            /** @description Rates of these numbers per second. */
            rates: components["schemas"]["TierRates"];
            /** @description Bytes brought in by reads. */
            filled_bytes: number[];
            /** @description Bytes brought in by writes. */
            placed_bytes: number[];
            /** @description Bytes of pages that were evicted. */
            evicted_bytes: number[];
            /** @description Bytes written to the backing store. */
            destaged_bytes: number[];
            /** @description Bytes in the tier at the end of the point. */
            resident_bytes: number[];
            /** @description Bytes of blocks in the memory cache at the end of the point, uncompressed. */
            memory_held_bytes: number[];
            /** @description Memory that these blocks occupy, compressed or not, in bytes. */
            memory_taken_bytes: number[];
            /** @description Sentence on content and size of the memory cache at the end; empty without such a cache. */
            memory_sentence: string;
            /** @description Sentence on the tier's content at the end, and on evictions. */
            held_sentence: string;
            /** @description Bytes in the tier at the end of the point that are not yet on the backing store. */
            dirty_bytes: number[];
            /** @description Sentence on the largest amount that waited to be written to the backing store. */
            dirty_sentence: string;
            /**
             * @description True if the bytes written to the backing store differ by less than 5 % in total from the
             *     bytes that writes brought in. There is then no visible gap between the two.
             */
            is_destaged_at_once: boolean;
            /** @description 99th percentile of the application's reads, nanoseconds. */
            observed_read_p99_ns: (number | null)[];
            /** @description 99th percentile of the application's writes, nanoseconds. */
            observed_write_p99_ns: (number | null)[];
            /**
             * @description 99th percentile of the backing store's reads, nanoseconds; empty if the run does not have
             *     it.
             */
            backing_read_p99_ns: (number | null)[];
            /**
             * @description 99th percentile of the backing store's writes, nanoseconds; empty if the run does not have
             *     it.
             */
            backing_write_p99_ns: (number | null)[];
        };
        /** @description Shares of a tier's requests in one step, 0 to 1. */
        TierShares: {
            /**
             * Format: double
             * @description Share of the reads that the tier served; none without reads.
             */
            read_hit: number | null;
            /**
             * Format: double
             * @description Share of the writes that the tier acknowledged before the backing store had them; none
             *     without writes.
             */
            writes_absorbed: number | null;
        };
        /** @description Tier activity in one step. */
        TierSteps: {
            /**
             * Format: uint32
             * @description Number of the step in the ladder, from 1.
             */
            step: number;
            /**
             * Format: uint32
             * @description Number of the repeat, from 1.
             */
            repeat: number;
            /**
             * Format: uint32
             * @description Number of tiles of the step.
             */
            tiles: number;
            /** @description Summed facts about each tier. */
            tiers: components["schemas"]["TierFacts"][];
            /** @description Shares of each tier, in the same order. */
            shares: components["schemas"]["TierShares"][];
        };
        /** @description View `curve`: work by number of tiles, and the limit that breaks. */
        TileCurve: {
            /** @description Edge and its cause, in a sentence. */
            sentence: string;
            /**
             * Format: uint32
             * @description Largest number of tiles at which all limits are met.
             */
            tiles_held: number | null;
            /**
             * Format: uint32
             * @description Smallest number of tiles that failed.
             */
            tiles_failed: number | null;
            /** @description The limit that broke first. */
            broken: string | null;
            /** @description Names of limits: `shop order p95`. */
            limits: string[];
            /** @description Points, sorted by tiles, then by repeat. */
            points: components["schemas"]["CurvePoint"][];
        };
        /** @description Tile that the run used as load. */
        TileFacts: {
            /** @description Name of the tile. */
            name: string;
            /** @description SHA-256 of the resolved definition, in hexadecimal. Tiles with equal hashes make equal load. */
            sha256: string;
            /**
             * Format: uint32
             * @description Number of virtual machines in one tile.
             */
            vms: number;
            /**
             * Format: uint32
             * @description Number of workloads in one tile; each copy is counted.
             */
            workloads: number;
            /**
             * Format: uint64
             * @description Bytes of virtual disks in one tile, after scaling.
             */
            disk_bytes: number;
            /** @description Infrastructure operations that ran beside the tiles; absent if none did. */
            operations?: components["schemas"]["OperationsFacts"] | null;
            /** @description Names of the services that the workloads call; empty if they call none. */
            endpoints?: string[];
            /** @description Existing virtual machines from which the tile was made; absent for other tiles. */
            estate?: components["schemas"]["EstateFacts"] | null;
        };
        /**
         * @description Tile that was moved to another host, or stopped for a time. In a simulation, one of its virtual
         *     machines.
         */
        TileMove: {
            /**
             * Format: uint32
             * @description Tile, from 0.
             */
            tile: number;
            /** @description Virtual machine in a simulation, as `workload/VM`; absent if the whole tile moved. */
            vm?: string | null;
            /** @description Host that drove the tile before the event. */
            from: string;
            /** @description Host that drives the tile after the event; absent if none does. */
            to?: string | null;
            /**
             * Format: uint64
             * @description Time at which the tile stopped, by the clock of `from`; for a lost host, its last sign of
             *     life.
             */
            stood_ns: number;
            /**
             * Format: uint64
             * @description Time at which the tile continued, by the clock of `to`; absent if it never did.
             */
            goes_on_ns?: number | null;
            /**
             * Format: uint64
             * @description Duration of the stop: the switch-over of a move, or the outage of a loss. Its accuracy is
             *     limited by `clock_uncertainty_ns` of the two hosts.
             */
            outage_ns?: number | null;
            /**
             * @description True if the users started again from the beginning, because their state was lost. In a
             *     simulation, true if the virtual machine started its interrupted work again.
             */
            begins_anew: boolean;
            /** @description Copy of the virtual machine's memory and disks, in a simulation; absent without one. */
            copy?: components["schemas"]["MoveCopy"] | null;
        };
        /** @description Score of one tile, in tiles' worth of work. */
        TileScore: {
            /**
             * Format: uint32
             * @description Tile, from 0.
             */
            tile: number;
            /** @description Geometric mean of the normalised metrics of the tile's workloads; 1 is one tile's worth. */
            geometric_mean: components["schemas"]["Figure"];
        };
        /** @description Confidence interval of the maximum number of tiles. */
        TilesInterval: {
            /**
             * Format: uint32
             * @description Lower end, in tiles.
             */
            low: number;
            /**
             * Format: uint32
             * @description Upper end, in tiles; null if it is above every number that was or could be tested.
             */
            high: number | null;
            /**
             * Format: uint32
             * @description Most probable number of tiles, from the curve fitted through all steps; it may lie between
             *     numbers that ran. Absent if no curve was fitted; `tiles_held` then takes its place.
             */
            most_likely?: number | null;
            /**
             * Format: double
             * @description Share of such intervals that contain the true number, such as 0.95.
             */
            confidence: number;
        };
        /** @description Program that measured. */
        ToolFacts: {
            /** @description Version of the program. */
            version: string;
            /** @description Commit of the source from which the program was built; null if unknown. */
            commit: string | null;
        };
        /** @description Position of an item at one point in time. */
        TrailPoint: {
            /**
             * Format: uint64
             * @description Begin, nanoseconds on the run's axis.
             */
            at_ns: number;
            /**
             * Format: double
             * @description I/Os per second.
             */
            operations_per_s: number;
            /**
             * Format: double
             * @description Throughput, in bytes per second.
             */
            bytes_per_s: number;
            /**
             * Format: uint64
             * @description Median service time, nanoseconds.
             */
            p50_ns: number | null;
            /**
             * Format: uint64
             * @description 99th percentile of the service time, nanoseconds.
             */
            p99_ns: number | null;
        };
        /** @description A figure of all runs by number of tiles. */
        TrendFigure: {
            /** @description Name of the figure: `read p99`, `shop order p95`. */
            title: string;
            /** @description Unit of the values: `io_per_s` or `ns`. */
            unit: string;
            /**
             * Format: uint64
             * @description Allowed value, if the figure has a limit and all runs have the same one.
             */
            limit_ns?: number | null;
            /** @description Points of each run, in the order of the runs; empty for a run without the figure. */
            lines: components["schemas"]["TrendPoint"][][];
        };
        /** @description A figure of a run at a number of tiles. */
        TrendPoint: {
            /**
             * Format: uint32
             * @description Number of tiles.
             */
            tiles: number;
            /**
             * Format: double
             * @description Median of the repeats, in the unit of the figure.
             */
            value: number;
            /**
             * @description Verdict against the first run at the same number of tiles: `worse`, `better`, `same` or
             *     `inconclusive`; absent for the first run, and if the first run has no such step.
             */
            against_first?: string | null;
            /** @description Change against the first run with its interval, as text: `+18 % (+11 % to +26 %)`. */
            change?: string | null;
        };
        /** @description A run beside others. */
        TrendRow: {
            /** @description Identifier of the run. */
            id: string;
            /** @description Start of the run, RFC 3339, UTC. */
            started: string;
            /** @description Name that the user gave the run. */
            name?: string | null;
            /** @description Datastore of the run. */
            datastore: string;
            /** @description Profile: `quick`, `standard`, `full`. */
            profile: string;
            /** @description Answer of the run, in a sentence. */
            sentence: string;
            /** @description Largest number of tiles that met the limits, as an interval. */
            tiles: string;
            /**
             * Format: uint32
             * @description Largest number of tiles that met the limits; none if unknown.
             */
            tiles_held: number | null;
            /**
             * Format: double
             * @description Score at that number of tiles.
             */
            score: number | null;
            /** @description Score with its interval, as text: `2.51 (2.43 to 2.60)`. */
            score_text?: string | null;
            /** @description Limit that breaks with more tiles, or another reason why the search ended, as a sentence. */
            breaks: string;
            /**
             * Format: double
             * @description Mean power at that number of tiles, in watts; none without a meter.
             */
            watts?: number | null;
            /** @description Power and score per kilowatt, as text. */
            power_text?: string | null;
            /** @description Price per tile, in the unit of the tag `price`; none without the tag. */
            price_per_tile?: components["schemas"]["PricePer"] | null;
            /** @description Price per VM, in the unit of the tag `price`; none without the tag. */
            price_per_vm?: components["schemas"]["PricePer"] | null;
            /** @description Text of the tag `price`, if it is not a valid price. */
            price_not_read?: string | null;
            /**
             * @description Verdict over all figures against the first run: `worse`, `better`, `same` or
             *     `inconclusive`; absent for the first.
             */
            against_first?: string | null;
            /** @description Figure that decided the verdict, with its change. */
            reason?: string | null;
            /** @description Facts of plan and tiles that differ from those of the first run. */
            plan_differs: string[];
            /** @description Reason why the run was not compared. */
            not_compared?: string | null;
        };
        /**
         * @description Response times of the tiles' actions while infrastructure operations did I/O, compared with the
         *     rest of the measured time.
         */
        UnderOperations: {
            /**
             * Format: double
             * @description Share of the measured time in which an operation did I/O, 0 to 1, counted by slices.
             */
            share_of_time: number;
            /** @description Comparison of the response times in that time with the rest of the measured time. */
            against_rest: components["schemas"]["AgainstOthers"];
        };
        /** @description Verdict on a step, or on one limit. */
        Verdict: "passed" | "failed" | "inconclusive" | "interrupted";
        /**
         * @description Use of a virtual machine's virtual CPUs. An entry for several of the same name has means, and
         *     the maximum over all of them.
         */
        VmFacts: {
            /** @description Names of the workload and the virtual machine: `shop/shop-db`. */
            name: string;
            /**
             * Format: uint32
             * @description Number of virtual machines of that name.
             */
            count: number;
            /**
             * Format: double
             * @description Used share of all virtual CPUs, 0 to 1.
             */
            used: number;
            /**
             * Format: double
             * @description Largest `used` in a single second.
             */
            used_max_1s: number;
            /**
             * Format: double
             * @description Largest `used` over 20 seconds.
             */
            used_max_20s: number;
            /**
             * Format: double
             * @description Ready time of all virtual CPUs together, in seconds per second of the run.
             */
            ready: number;
            /**
             * Format: double
             * @description Largest `ready` in a single second.
             */
            ready_max_1s: number;
            /**
             * Format: double
             * @description Largest `ready` over 20 seconds.
             */
            ready_max_20s: number;
        };
        /** @description Cause of waiting within the action whose limit was exceeded. */
        Wait: {
            /** @description Cause of the waiting. */
            what: components["schemas"]["Waited"];
            /**
             * Format: double
             * @description Share of the action's mean response time, 0 to 1.
             */
            share: number;
        };
        /** @description Cause of waiting within an action. */
        Waited: {
            /** @constant */
            on: "reads";
            /** @description Name of the disk in the workload. */
            disk: string;
        } | {
            /** @constant */
            on: "writes";
            /** @description Name of the disk in the workload. */
            disk: string;
        } | {
            /** @constant */
            on: "flushes";
            /** @description Name of the disk in the workload. */
            disk: string;
        } | {
            /** @constant */
            on: "calls";
            /** @description Name of the endpoint in the workload. */
            endpoint: string;
        } | {
            /** @constant */
            on: "processor";
        } | {
            /** @constant */
            on: "pause";
        } | {
            /** @constant */
            on: "queue";
        } | {
            /** @constant */
            on: "unexplained";
        };
        /** @description Warm-up of a step. */
        WarmUp: {
            /** @description Rule that decided when the warm-up was complete. */
            rule: string;
            /** @description True if the rule was met before the time limit. */
            reached: boolean;
            /**
             * Format: uint64
             * @description Duration of the warm-up, in nanoseconds.
             */
            duration_ns: number;
            /** @description Values that the rule was applied to, in words. */
            detail: string;
        };
        /** @description Warning that concerns how far the numbers can be trusted. */
        Warning: {
            /** @description Stable identifier: `not-steady`. */
            id: string;
            /** @description Explanation in a sentence. */
            text: string;
            /** @description Measured value with its unit; absent if there is none. */
            value: string | null;
            /** @description Limit with its unit, to which the value is compared; absent if there is none. */
            limit: string | null;
            /** @description Advice on what to try next; absent if there is none. */
            hint: string | null;
        };
        /**
         * @description View `watch`: VMs of watched hosts, sorted by how much they suffer; their disks; their working
         *     sets; and the parts of their latency. Lists cover the lens's time; lines are also limited to the
         *     lens's workloads.
         */
        WatchPage: {
            /** @description Summary in one sentence. */
            sentence: string;
            /** @description Watched hosts, if there are several. */
            hosts: components["schemas"]["WatchedHost"][];
            /**
             * Format: uint64
             * @description Latency above which an I/O is slow, nanoseconds.
             */
            limit_ns: number;
            /** @description VMs and other initiators, sorted by their number of slow I/Os, highest first. */
            vms: components["schemas"]["WatchedLoad"][];
            /** @description Disks, in the same order: most slow I/Os first. */
            disks: components["schemas"]["WatchedLoad"][];
            /**
             * @description Working sets over time: of the VMs in the lens, or if none is chosen of the VMs that use the
             *     most.
             */
            sets: components["schemas"]["WatchedSets"][];
            /**
             * Format: uint32
             * @description Number of VMs whose working sets were left out.
             */
            sets_left_out: number;
            /** @description Parts of the latency over time; none for a source without latencies. */
            split: components["schemas"]["LatencySplit"] | null;
        };
        /** @description One of several watched hosts. */
        WatchedHost: {
            /** @description Name of the host. */
            name: string;
            /** @description Reason why the numbers leave this host out; none if they include it. */
            trouble: string | null;
            /** @description Advice on what to do, if there is any. */
            hint: string | null;
            /**
             * Format: int64
             * @description Seconds by which the host's clock is ahead, if more than a slice; the host's times are wrong
             *     by as much.
             */
            clock_ahead_s: number | null;
        };
        /** @description I/O of a VM or of a disk in the lens's time. */
        WatchedLoad: {
            /** @description Name of the VM, other initiator, or disk. */
            name: string;
            /**
             * @description Hosts of a VM, if several are watched, sorted by the time of the VM's first I/O on each;
             *     none for disks.
             */
            hosts: string[];
            /** @description Disks of the hosts that are this same storage; none for VMs, and for a disk of one host. */
            parts: components["schemas"]["WatchedLoad"][];
            /** @description Workloads of the row, as the lens names them. */
            workloads: string[];
            /**
             * Format: uint32
             * @description Number of disks of a VM, or of initiators on a disk.
             */
            others: number;
            /**
             * Format: double
             * @description I/Os per second of watched time.
             */
            operations_per_s: number;
            /**
             * Format: double
             * @description Bytes per second of watched time.
             */
            bytes_per_s: number;
            /**
             * Format: uint64
             * @description 95th percentile of the latency of reads, nanoseconds; none without reads.
             */
            read_p95_ns: number | null;
            /**
             * Format: uint64
             * @description 95th percentile of the latency of writes, nanoseconds; none without writes.
             */
            write_p95_ns: number | null;
            /**
             * Format: uint64
             * @description 95th percentile of the latency of flushes, nanoseconds; none without flushes.
             */
            flush_p95_ns: number | null;
            /**
             * Format: double
             * @description Share of the I/Os that were slower than the limit.
             */
            slow_share: number;
            /**
             * Format: double
             * @description Share of the latency that passed before the device had the I/O; none if unknown.
             */
            queue_share: number | null;
            /**
             * Format: uint64
             * @description I/Os that failed.
             */
            failed: number;
            /**
             * @description Newest working set of a day, in words; none for disks, and if the addresses of I/Os are
             *     unknown.
             */
            set: string | null;
            /**
             * Format: double
             * @description Share of the time in which the disk was busy; none for VMs, and where it is unknown.
             */
            busy_share: number | null;
        };
        /** @description Working sets of a VM over time. Lists have one entry per point; none where it is unknown. */
        WatchedSets: {
            /** @description Name of the VM or other initiator. */
            vm: string;
            /** @description Host that these working sets are from, for a VM that several hosts saw. */
            host: string | null;
            /** @description Newest working set of a day, in words. */
            sentence: string;
            /** @description Begin of the hour of each point on the axis, nanoseconds. */
            at_ns: number[];
            /** @description Length of each point, nanoseconds. */
            width_ns: number[];
            /** @description Working sets by the length of their span, shortest first. */
            spans: components["schemas"]["SetSpanLines"][];
        };
        /** @description Distinct bytes accessed, in pages of 4 KiB. */
        WorkingSetRow: {
            /** @description Name of the VM, or `all`. */
            vm: string;
            /**
             * Format: uint64
             * @description Length of the windows, nanoseconds; none for the whole trace.
             */
            window_ns: number | null;
            /**
             * Format: uint64
             * @description Number of windows with I/O.
             */
            windows: number;
            /**
             * Format: double
             * @description Mean over the windows, bytes.
             */
            mean_bytes: number;
            /**
             * Format: double
             * @description Maximum over the windows, bytes.
             */
            max_bytes: number;
            /**
             * Format: double
             * @description Share of the pages that were sampled; 1 means exact.
             */
            sampled_share: number;
        };
        /**
         * @description Results of one workload in one step. The workload belongs to a tile, or is an infrastructure
         *     operation.
         */
        WorkloadResult: {
            /**
             * Format: uint32
             * @description Tile, from 0; null for infrastructure operations, which belong to no tile.
             */
            tile: number | null;
            /** @description Name of the workload. */
            workload: string;
            /**
             * Format: uint32
             * @description Number among the copies of this workload in the tile, from 0.
             */
            copy: number;
            /** @description Amount of work, compared with its reference. */
            metric: components["schemas"]["MetricResult"];
            /** @description Results of the actions, in the workload's order. */
            actions: components["schemas"]["ActionResult"][];
            /** @description Results of the limits, in the workload's order. */
            limits: components["schemas"]["LimitResult"][];
        };
        /** @description When a tier's writes are acknowledged, and where they go. */
        WritePolicy: "write-back" | "write-through" | "read-only";
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    listRuns: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Stored runs, newest first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunList"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Parts of a run that do not depend on the lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunPage"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getOverview: {
        parameters: {
            query?: {
                /** @description Time on the run's axis in seconds, from-to or from- to the end [default: all measured time] */
                t?: string;
                /** @description Step of the ladder, from 1 [default: all] */
                step?: number;
                /** @description Reads or writes [default: both] */
                dir?: "r" | "w";
                /** @description Classes of sizes by their lower edges, separated by commas [default: all] */
                bs?: string;
                /** @description Pairs of direction and class of sizes, separated by commas: w64k,r4k [default: all] */
                sel?: string;
                /** @description Tiles, from 1, separated by commas [default: all] */
                tile?: string;
                /** @description Hosts that drove the load, separated by commas [default: all] */
                host?: string;
                /** @description Workloads, separated by commas [default: all] */
                wl?: string;
            };
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A view through a lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Overview"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getSeries: {
        parameters: {
            query?: {
                /** @description Time on the run's axis in seconds, from-to or from- to the end [default: all measured time] */
                t?: string;
                /** @description Step of the ladder, from 1 [default: all] */
                step?: number;
                /** @description Reads or writes [default: both] */
                dir?: "r" | "w";
                /** @description Classes of sizes by their lower edges, separated by commas [default: all] */
                bs?: string;
                /** @description Pairs of direction and class of sizes, separated by commas: w64k,r4k [default: all] */
                sel?: string;
                /** @description Tiles, from 1, separated by commas [default: all] */
                tile?: string;
                /** @description Hosts that drove the load, separated by commas [default: all] */
                host?: string;
                /** @description Workloads, separated by commas [default: all] */
                wl?: string;
                /** @description Measured quantity [default: iops] */
                m?: "iops" | "bw" | "lat";
                /** @description Lines of the diagram [default: rw] */
                by?: "none" | "rw" | "bs" | "wl" | "tile" | "host" | "sel";
                /** @description Maximum number of points over time [default: 600] */
                points?: number;
            };
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A view through a lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Series"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getActions: {
        parameters: {
            query?: {
                /** @description Time on the run's axis in seconds, from-to or from- to the end [default: all measured time] */
                t?: string;
                /** @description Step of the ladder, from 1 [default: all] */
                step?: number;
                /** @description Workloads, separated by commas [default: all] */
                wl?: string;
                /** @description Measured quantity [default: iops] */
                m?: "iops" | "bw" | "lat";
                /** @description Maximum number of points over time [default: 600] */
                points?: number;
            };
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A view through a lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Series"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCalls: {
        parameters: {
            query?: {
                /** @description Time on the run's axis in seconds, from-to or from- to the end [default: all measured time] */
                t?: string;
                /** @description Step of the ladder, from 1 [default: all] */
                step?: number;
                /** @description Workloads, separated by commas [default: all] */
                wl?: string;
                /** @description Measured quantity [default: iops] */
                m?: "iops" | "bw" | "lat";
                /** @description Maximum number of points over time [default: 600] */
                points?: number;
            };
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A view through a lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Series"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getHeatmap: {
        parameters: {
            query?: {
                /** @description Time on the run's axis in seconds, from-to or from- to the end [default: all measured time] */
                t?: string;
                /** @description Step of the ladder, from 1 [default: all] */
                step?: number;
                /** @description Reads or writes [default: both] */
                dir?: "r" | "w";
                /** @description Classes of sizes by their lower edges, separated by commas [default: all] */
                bs?: string;
                /** @description Pairs of direction and class of sizes, separated by commas: w64k,r4k [default: all] */
                sel?: string;
                /** @description Tiles, from 1, separated by commas [default: all] */
                tile?: string;
                /** @description Hosts that drove the load, separated by commas [default: all] */
                host?: string;
                /** @description Workloads, separated by commas [default: all] */
                wl?: string;
                /** @description Maximum number of points over time [default: 600] */
                points?: number;
                /** @description Rows of the heat map [default: 120] */
                rows?: number;
            };
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A view through a lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["HeatMap"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getPercentiles: {
        parameters: {
            query?: {
                /** @description Time on the run's axis in seconds, from-to or from- to the end [default: all measured time] */
                t?: string;
                /** @description Step of the ladder, from 1 [default: all] */
                step?: number;
                /** @description Reads or writes [default: both] */
                dir?: "r" | "w";
                /** @description Classes of sizes by their lower edges, separated by commas [default: all] */
                bs?: string;
                /** @description Pairs of direction and class of sizes, separated by commas: w64k,r4k [default: all] */
                sel?: string;
                /** @description Tiles, from 1, separated by commas [default: all] */
                tile?: string;
                /** @description Hosts that drove the load, separated by commas [default: all] */
                host?: string;
                /** @description Workloads, separated by commas [default: all] */
                wl?: string;
                /** @description Lines of the diagram [default: rw] */
                by?: "none" | "rw" | "bs" | "wl" | "tile" | "host" | "sel";
            };
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A view through a lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Percentiles"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getMatrix: {
        parameters: {
            query?: {
                /** @description Time on the run's axis in seconds, from-to or from- to the end [default: all measured time] */
                t?: string;
                /** @description Step of the ladder, from 1 [default: all] */
                step?: number;
                /** @description Tiles, from 1, separated by commas [default: all] */
                tile?: string;
                /** @description Hosts that drove the load, separated by commas [default: all] */
                host?: string;
                /** @description Workloads, separated by commas [default: all] */
                wl?: string;
            };
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A view through a lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LatencyMatrix"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getBreaks: {
        parameters: {
            query?: {
                /** @description Time on the run's axis in seconds, from-to or from- to the end [default: all measured time] */
                t?: string;
                /** @description Step of the ladder, from 1 [default: all] */
                step?: number;
                /** @description Reads or writes [default: both] */
                dir?: "r" | "w";
                /** @description Classes of sizes by their lower edges, separated by commas [default: all] */
                bs?: string;
                /** @description Pairs of direction and class of sizes, separated by commas: w64k,r4k [default: all] */
                sel?: string;
                /** @description Tiles, from 1, separated by commas [default: all] */
                tile?: string;
                /** @description Hosts that drove the load, separated by commas [default: all] */
                host?: string;
                /** @description Workloads, separated by commas [default: all] */
                wl?: string;
            };
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A view through a lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["LoadMatrix"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getMap: {
        parameters: {
            query?: {
                /** @description Time on the run's axis in seconds, from-to or from- to the end [default: all measured time] */
                t?: string;
                /** @description Step of the ladder, from 1 [default: all] */
                step?: number;
                /** @description Reads or writes [default: both] */
                dir?: "r" | "w";
                /** @description Classes of sizes by their lower edges, separated by commas [default: all] */
                bs?: string;
                /** @description Pairs of direction and class of sizes, separated by commas: w64k,r4k [default: all] */
                sel?: string;
                /** @description Tiles, from 1, separated by commas [default: all] */
                tile?: string;
                /** @description Hosts that drove the load, separated by commas [default: all] */
                host?: string;
                /** @description Workloads, separated by commas [default: all] */
                wl?: string;
            };
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A view through a lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MapPage"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getMoment: {
        parameters: {
            query?: {
                /** @description Time on the run's axis in seconds, from-to or from- to the end [default: all measured time] */
                t?: string;
                /** @description Step of the ladder, from 1 [default: all] */
                step?: number;
                /** @description Reads or writes [default: both] */
                dir?: "r" | "w";
                /** @description Classes of sizes by their lower edges, separated by commas [default: all] */
                bs?: string;
                /** @description Pairs of direction and class of sizes, separated by commas: w64k,r4k [default: all] */
                sel?: string;
                /** @description Tiles, from 1, separated by commas [default: all] */
                tile?: string;
                /** @description Hosts that drove the load, separated by commas [default: all] */
                host?: string;
                /** @description Workloads, separated by commas [default: all] */
                wl?: string;
                /** @description A moment on the run's axis, seconds [default: the worst] */
                at?: string;
            };
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A view through a lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Moment"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getCurve: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A view through a lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TileCurve"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getTier: {
        parameters: {
            query?: {
                /** @description Time on the run's axis in seconds, from-to or from- to the end [default: all measured time] */
                t?: string;
                /** @description Step of the ladder, from 1 [default: all] */
                step?: number;
                /** @description Maximum number of points over time [default: 600] */
                points?: number;
            };
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A view through a lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["TierPage"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getMachine: {
        parameters: {
            query?: {
                /** @description Time on the run's axis in seconds, from-to or from- to the end [default: all measured time] */
                t?: string;
                /** @description Step of the ladder, from 1 [default: all] */
                step?: number;
                /** @description Maximum number of points over time [default: 600] */
                points?: number;
            };
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A view through a lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["MachinePage"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getAccess: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A view through a lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["AccessPage"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getWatch: {
        parameters: {
            query?: {
                /** @description Time on the run's axis in seconds, from-to or from- to the end [default: all measured time] */
                t?: string;
                /** @description Workloads, separated by commas [default: all] */
                wl?: string;
                /** @description Maximum number of points over time [default: 600] */
                points?: number;
            };
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A view through a lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["WatchPage"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listEvents: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Events of the run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventList"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    watchRun: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Id of a run */
                id: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description State of the run, about once a second: events named state; the last one is named end */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["LiveState"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    compareRuns: {
        parameters: {
            query: {
                /** @description Id of a run */
                a: string;
                /** @description Id of a run */
                b: string;
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Run b compared with run a */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ComparePage"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    trendRuns: {
        parameters: {
            query: {
                /** @description Ids of runs, one parameter each */
                run: string[];
            };
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Complete runs side by side, oldest first, each compared with the first */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunsTrend"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    listStudies: {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description Own and shipped results of studies */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyList"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
    getStudy: {
        parameters: {
            query?: never;
            header?: never;
            path: {
                /** @description Name of a study */
                name: string;
            };
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            /** @description A study's claims, with published and own values */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyPage"];
                };
            };
            /** @description Reason for the error (RFC 9457) */
            default: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["Problem"];
                };
            };
        };
    };
}
