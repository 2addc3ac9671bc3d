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
        /** What does not depend on the lens */
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
    "/api/v1/runs/{id}/events": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        /** What happened during the run */
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
         * How the run goes, about once a second: events named state; the last one is named end
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
        /** Run b against run a */
        get: operations["compareRuns"];
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
        /** Own results of studies, and shipped ones */
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
        /** A study's claims, published and ours */
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
         * @description `access`: which bytes of the storage are used, how much cache would hold them, and what lies
         *     across pages or beside large I/O. Of the whole trace, whatever the lens.
         */
        AccessPage: {
            /** @description A sentence: what is touched, or why nobody knows. */
            sentence: string;
            /** @description What matters in it, most important first. */
            findings: string[];
            /** @description What these I/Os cannot answer, and why. */
            cannot_say: components["schemas"]["Remark"][];
            /** @description Different bytes over windows of time; everybody together first. */
            working_set: components["schemas"]["WorkingSetRow"][];
            /** @description Miss ratios of an LRU cache over its size. */
            miss_ratio: components["schemas"]["MissRatioRow"][];
            /** @description Where more cache begins to bring less. */
            knees: components["schemas"]["KneeRow"][];
            /** @description What an acceleration tier would serve. */
            tiers: components["schemas"]["TierRow"][];
            /** @description Where I/Os begin within 4 KiB. */
            alignment: components["schemas"]["AlignmentRow"][];
            /** @description Small I/Os with and without a large one in flight on the device. */
            beside_large: components["schemas"]["BesideRow"][];
        };
        /** @description What became of one action. */
        ActionResult: {
            /** @description The action's name. */
            action: string;
            /**
             * Format: uint64
             * @description How many finished well.
             */
            count: number;
            /**
             * Format: uint64
             * @description How many had a failed I/O; they are not in the latencies.
             */
            errors: number;
            /**
             * Format: uint64
             * @description Intended starts that were given up because the backlog was full.
             */
            dropped: number;
            /** @description First step to last answer. */
            service: components["schemas"]["Latency"];
            /** @description Intended start to last answer. */
            response: components["schemas"]["Latency"];
        };
        /**
         * @description The time that what one part did took, against the same of all other parts: kind by kind of the tile, so
         *     that parts with other shares of small and large ones compare. A part is a host, with its I/Os
         *     and calls; or the time in which infrastructure operations ran, with the tiles' actions.
         */
        AgainstOthers: {
            /**
             * Format: uint64
             * @description What it did of kinds that others did, too.
             */
            samples: number;
            /** @description Mean time over what the same would have taken with the others' means; 1 is equal. */
            times: components["schemas"]["Figure"];
            /** @description The lower end of its interval, from blocks of slices; absent with too few. */
            low: components["schemas"]["Figure"];
            /** @description The upper end. */
            high: components["schemas"]["Figure"];
        };
        /** @description Where I/Os begin within 4 KiB. */
        AlignmentRow: {
            /** @description Whose. */
            vm: string;
            /** @description `read` or `write`. */
            direction: string;
            /**
             * Format: uint64
             * @description First sector (512 B) modulo 8; 0 is aligned.
             */
            sector_mod_8: number;
            /**
             * Format: uint64
             * @description I/Os.
             */
            count: number;
            /**
             * Format: double
             * @description Of the VM's I/Os of this direction.
             */
            share: number;
        };
        /** @description The run's answer. A score never stands alone: the verdict is beside it. */
        Answer: {
            /** @description How far the question was answered. */
            status: components["schemas"]["Status"];
            /**
             * Format: uint32
             * @description Most tiles at which every limit held; null if that is not known.
             */
            tiles_held: number | null;
            /**
             * Format: uint32
             * @description Virtual machines in those tiles.
             */
            vms_held: number | null;
            /** @description Where the most tiles that hold lie; null where nothing was decided. */
            tiles_interval?: components["schemas"]["TilesInterval"] | null;
            /**
             * Format: uint32
             * @description The most tiles that might have been tried: as many as were asked for, fit, and whose users
             *     are kept in memory. Absent in runs of earlier versions.
             */
            tiles_max?: number | null;
            /**
             * @description How many tiles of full size the datastore has room for; null where disks had their full
             *     size, or where nobody knows.
             */
            capacity?: components["schemas"]["Capacity"] | null;
            /** @description What ended the search. */
            edge: components["schemas"]["Edge"];
            /**
             * @description The answer in a sentence a person can quote, for readers without this program: it is made of
             *     the other fields ([`super::Run::sentence`]), and this program reads them.
             */
            sentence: string;
            /** @description The first limit that broke one step above; null if none did. */
            first_broken: components["schemas"]["BrokenLimit"] | null;
            /**
             * @description What was at its limit in the step that broke, else in the one that held; absent in runs
             *     of earlier versions.
             */
            bottleneck?: components["schemas"]["Bottleneck"] | null;
            /** @description Score at `tiles_held`, in tiles' worth of work. */
            score: components["schemas"]["Figure"];
            /** @description Interval of the score; null if it has none. */
            score_interval: components["schemas"]["Interval"] | null;
            /** @description The score by the power of the held tiles; empty without a meter. */
            per_kilowatt?: components["schemas"]["PerKilowatt"][];
            /** @description How far the run got, in words: `5 runs of 3 tile counts, 2 passed; interrupted`. */
            progress: string;
            /** @description How the climb went, by which the words are made; absent in runs of earlier versions. */
            climb?: components["schemas"]["ClimbFacts"] | null;
        };
        /** @description Small I/Os (below 32 KiB) without and with a large one (64 KiB and above) in flight. */
        BesideRow: {
            /** @description Whose. */
            vm: string;
            /** @description `read` or `write`. */
            direction: string;
            /**
             * Format: uint64
             * @description Small I/Os with no large one beside them.
             */
            alone_count: number;
            /**
             * Format: uint64
             * @description Their median, nanoseconds.
             */
            alone_p50_ns: number | null;
            /**
             * Format: uint64
             * @description Their 99th percentile.
             */
            alone_p99_ns: number | null;
            /**
             * Format: uint64
             * @description Small I/Os that were issued while a large one was in flight on the device.
             */
            beside_count: number;
            /**
             * Format: uint64
             * @description Their median.
             */
            beside_p50_ns: number | null;
            /**
             * Format: uint64
             * @description Their 99th percentile.
             */
            beside_p99_ns: number | null;
        };
        /** @description What was at its limit, or came nearest to it. */
        Bottleneck: {
            /** @description What it is; `none-seen` where nothing that can be seen was at its limit. */
            kind: components["schemas"]["Resource"];
            /**
             * @description Which one: `pool lun1 disks`, `host-3`, `sda`. With `none-seen` what came nearest; empty
             *     where nothing could be looked at.
             */
            name: string;
            /**
             * Format: double
             * @description Share of it that was used, 0 to 1; null where it has none.
             */
            utilisation: number | null;
            /** @description What was seen, in words. */
            text: string;
            /** @description Where that was read, and what it was held against. */
            source: string;
        };
        /** @description A limit that broke, and where. */
        BrokenLimit: {
            /**
             * Format: uint32
             * @description Tiles in the step in which it broke.
             */
            tiles: number;
            /**
             * Format: uint32
             * @description Repeat of the step, from 1.
             */
            repeat: number;
            /**
             * Format: uint32
             * @description Tile, from 0; null if it is a limit of infrastructure operations.
             */
            tile: number | null;
            /** @description Workload. */
            workload: string;
            /**
             * Format: uint32
             * @description Which of several of this workload in the tile, from 0.
             */
            copy: number;
            /** @description The limit and what was measured. */
            limit: components["schemas"]["LimitResult"];
        };
        /** @description Calls that failed for one reason. */
        CallErrors: {
            /** @description `refused`, `timed-out`, `closed`, `status` or `protocol`. */
            error: string;
            /**
             * Format: uint64
             * @description How many.
             */
            count: number;
        };
        /** @description All calls of one kind of one workload in the measured time, over all tiles. */
        CallTotal: {
            /** @description The workload. */
            workload: string;
            /** @description The kind, as the workload names it; it has one endpoint. */
            kind: string;
            /**
             * Format: uint64
             * @description Calls that were answered well.
             */
            count: number;
            /** @description Why calls failed, and how many; empty if none did. They have no latency. */
            errors?: components["schemas"]["CallErrors"][];
            /**
             * Format: uint64
             * @description Bytes of good answers.
             */
            bytes: number;
            /**
             * Format: double
             * @description Answered well, per second.
             */
            calls_per_s: number;
            /** @description Made to answered. */
            service: components["schemas"]["Latency"];
            /** @description Intended start to answered. */
            response: components["schemas"]["Latency"];
        };
        /** @description Room for disks of full size, when those that were measured were smaller. */
        Capacity: {
            /**
             * Format: uint32
             * @description Tiles of full size that fit.
             */
            tiles: number;
            /**
             * Format: uint64
             * @description What one of them needs, in bytes.
             */
            tile_bytes: number;
            /**
             * Format: uint64
             * @description What may be used, in bytes.
             */
            bytes: number;
        };
        /** @description Why a step's verdict is what it is. */
        Cause: "limits-held" | "limit-broken" | "gave-up" | "no-answer" | "calls-failed" | "undecided" | "not-steady" | "generator" | "disturbed" | "inconsistent" | "unfinished";
        /** @description A check of the measurement against itself. */
        Check: {
            /** @description Stable identifier: `littles-law`, `submitted-is-completed`. */
            id: string;
            /** @description What should have been found, in `unit`. */
            expected: components["schemas"]["Figure"];
            /** @description What was found, in `unit`. */
            found: components["schemas"]["Figure"];
            /** @description Unit of both: `I/Os`. */
            unit: string;
            /**
             * Format: double
             * @description Largest difference that passes, as a share of `expected`; 0 for exact checks.
             */
            tolerance: number;
            /** @description Whether it passed. */
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
        /** @description Course of the search for the most tiles that hold. */
        ClimbFacts: {
            /** @description Reason why the search ended. */
            ended: components["schemas"]["ClimbEnd"];
            /** @description Result above the tiles held; null if nothing above them was tested. */
            stop: components["schemas"]["Stop"] | null;
            /** @description Time limit that ended the search before an edge was found. */
            out_of_time?: components["schemas"]["OutOfTime"] | null;
            /**
             * Format: uint64
             * @description Largest number of users that fit into memory, if it kept more tiles from being tried.
             */
            users_max?: number | null;
            /** @description Count of tiles that passed before an overload and failed after it. */
            hysteresis?: components["schemas"]["Hysteresis"] | null;
            /**
             * Format: uint32
             * @description Number of different counts of tiles that ran.
             */
            tile_counts: number;
            /**
             * Format: uint32
             * @description Number of different counts of tiles that passed.
             */
            tile_counts_passed: number;
            /** @description Counts of tiles above the tiles held that passed. */
            passed_above?: number[];
            /** @description Counts of tiles below the tiles held that failed. */
            failed_below?: number[];
            /** @description Error of the model, if the array was fitted to measured storage. */
            model_error?: components["schemas"]["ModelError"] | null;
        };
        /** @description A figure of both. */
        CompareMetric: {
            /** @description Its name. */
            name: string;
            /** @description Its unit. */
            unit: string;
            /** @description `higher` or `lower`. */
            better: string;
            /**
             * Format: double
             * @description Median of A.
             */
            a: number | null;
            /**
             * Format: double
             * @description Median of B.
             */
            b: number | null;
            /**
             * Format: double
             * @description B less A, by A.
             */
            change: number | null;
            /**
             * Format: double
             * @description Lower end of the change's interval.
             */
            low: number | null;
            /**
             * Format: double
             * @description Upper end.
             */
            high: number | null;
            /** @description Repeats of A and B. */
            samples: number[];
            /** @description `worse`, `better`, `same` or `inconclusive`. */
            verdict: string;
            /** @description Why, if it needs words. */
            reason: string | null;
        };
        /** @description `GET /api/v1/compare?a=ID&b=ID`: B against A. */
        ComparePage: {
            /** @description The news in one sentence. */
            sentence: string;
            /** @description `worse`, `better`, `same` or `inconclusive`. */
            verdict: string;
            /** @description The baseline. */
            a: components["schemas"]["CompareSide"];
            /** @description What is held against it. */
            b: components["schemas"]["CompareSide"];
            /** @description Differences of machines, targets and programs. */
            environment: components["schemas"]["DifferenceRow"][];
            /** @description Differences of plans. */
            plan: components["schemas"]["DifferenceRow"][];
            /** @description `same`, `overlapping` or `different` random streams. */
            seeds: string;
            /** @description What else a reader should know. */
            notes: string[];
            /** @description Every figure that both have. */
            metrics: components["schemas"]["CompareMetric"][];
            /** @description Each reason for a verdict once, with the number of figures that have it. */
            reasons: components["schemas"]["CompareReason"][];
            /** @description Distributions of reads and writes of both, in the step with the most tiles both have. */
            curves: components["schemas"]["CurveOfSide"][];
            /** @description Edges of the rows of `difference`, nanoseconds. */
            edges_ns: number[];
            /** @description By class of sizes (8), by row: share of I/Os in B less that in A. */
            difference: number[][];
        };
        /** @description A reason for verdicts on figures. */
        CompareReason: {
            /** @description The reason in words. */
            text: string;
            /**
             * Format: uint64
             * @description Number of figures that have it.
             */
            figures: number;
        };
        /** @description One run of the two. */
        CompareSide: {
            /** @description Its id. */
            id: string;
            /** @description Its answer. */
            sentence: string;
            /**
             * Format: uint32
             * @description The tiles whose distributions are shown.
             */
            tiles: number;
        };
        /** @description One limit in one step. */
        CurveLimit: {
            /**
             * Format: uint64
             * @description Allowed, nanoseconds.
             */
            limit_ns: number;
            /**
             * Format: uint64
             * @description Measured, all tiles together.
             */
            measured_ns: number | null;
            /**
             * Format: double
             * @description Measured by allowed; none without a measured value.
             */
            ratio: number | null;
            /**
             * Format: uint64
             * @description Lower end of its interval.
             */
            low_ns: number | null;
            /**
             * Format: uint64
             * @description Upper end.
             */
            high_ns: number | null;
            /**
             * Format: uint64
             * @description Samples.
             */
            samples: number;
            /** @description `passed`, `failed` or `inconclusive`. */
            verdict: string;
            /**
             * Format: uint32
             * @description The tile that is worst, from 1.
             */
            worst_tile: number | null;
        };
        /** @description A distribution of one side. */
        CurveOfSide: {
            /** @description `a` or `b`. */
            side: string;
            /** @description `read` or `write`. */
            direction: string;
            /**
             * Format: uint64
             * @description I/Os.
             */
            count: number;
            /** @description As in [`super::PercentileCurve::points`]. */
            points: components["schemas"]["PercentilePoint"][];
        };
        /** @description One step. */
        CurvePoint: {
            /**
             * Format: uint32
             * @description Step of the ladder, from 1.
             */
            step: number;
            /**
             * Format: uint32
             * @description Repeat, from 1.
             */
            repeat: number;
            /**
             * Format: uint32
             * @description Tiles.
             */
            tiles: number;
            /**
             * Format: uint32
             * @description VMs.
             */
            vms: number;
            /** @description `passed`, `failed`, `inconclusive` or `interrupted`. */
            verdict: string;
            /** @description Why, in words. */
            reason: string;
            /**
             * Format: double
             * @description I/Os a second.
             */
            operations_per_s: number;
            /**
             * Format: double
             * @description Bytes a second.
             */
            bytes_per_s: number;
            /**
             * Format: double
             * @description Actions a second.
             */
            actions_per_s: number;
            /**
             * Format: double
             * @description Score.
             */
            score: number | null;
            /**
             * Format: double
             * @description What the same tiles score on ideal storage: their number.
             */
            ideal_score: number;
            /** @description In the order of [`TileCurve::limits`], all tiles together. */
            limits: (components["schemas"]["CurveLimit"] | null)[];
        };
        /** @description A value that is not the same. */
        DifferenceRow: {
            /** @description What: `kernel.release`. */
            key: string;
            /** @description In A. */
            a: string;
            /** @description In B. */
            b: string;
        };
        /** @description What can be chosen in the lens. */
        Dimensions: {
            /** @description Names of workloads; of a recorded trace: the VMs. */
            workloads: string[];
            /**
             * Format: uint32
             * @description Most tiles that ran at the same time; tiles are numbered from 1.
             */
            tiles: number;
            /** @description The hosts that drove the load; none where it was one machine. */
            hosts: string[];
            /** @description Labels of the eight classes of sizes, smallest first. */
            classes: string[];
            /** @description Whether an acceleration tier took part. */
            has_tier: boolean;
            /** @description Whether endpoints were called. */
            has_calls: boolean;
            /** @description Whether there are tiles and limits; a recorded trace has none. */
            has_ladder: boolean;
            /** @description Whether it is known when I/O was sent; without, there are no rates. */
            has_times: boolean;
            /** @description Whether it is known how long I/O took. */
            has_latencies: boolean;
            /** @description Sentence that stands in place of the charts of times or latencies that are not known. */
            lacks: string | null;
        };
        /** @description Which way the data goes. */
        Direction: "read" | "write" | "flush";
        /** @description Work of others that was in the way of a measurement. */
        Disturbance: {
            /** @description What showed it. */
            gauge: components["schemas"]["GaugeName"];
            /** @description Who did most of it: the name of a process, or a word. */
            by: string;
            /**
             * Format: double
             * @description How much it was: a share between 0 and 1, or a number of events.
             */
            value: number;
            /**
             * Format: double
             * @description How much is allowed.
             */
            limit: number;
        };
        /** @description A stretch of the run's axis in which somebody else's work was in the way. */
        DisturbedSpan: {
            /**
             * Format: uint32
             * @description Step of the ladder, from 1.
             */
            step: number;
            /**
             * Format: uint32
             * @description Repeat, from 1.
             */
            repeat: number;
            /**
             * Format: uint64
             * @description Its begin on the axis, nanoseconds.
             */
            from_ns: number;
            /**
             * Format: uint64
             * @description Its end.
             */
            to_ns: number;
            /** @description Whose work, and how much. */
            text: string;
        };
        /** @description A reason to trust an answer less. */
        Doubt: {
            /** @description `disturbed`, `out-of-time`, `hysteresis`, `event`, `resized`, or the identifier of the warning. */
            id: string;
            /** @description In a sentence. */
            text: string;
        };
        /** @description What ended the search. */
        Edge: "limit-broken" | "throughput-flat" | "capacity-reached" | "ladder-ended" | "none";
        /** @description How energy was made of samples. */
        EnergyBy: "counter" | "trapezoid" | "integral";
        /** @description How load was made. */
        EngineFacts: {
            /** @description What moved the data: `io_uring` or `threads`. */
            backend: string;
            /**
             * Format: uint32
             * @description Worker threads.
             */
            workers: number;
            /**
             * Format: uint32
             * @description I/Os each worker can have in flight.
             */
            depth: number;
            /** @description Whether I/O went through the page cache instead of around it. */
            buffered: boolean;
            /** @description Whether every block was stamped and checked. */
            verify: boolean;
            /**
             * Format: uint64
             * @description Width of one row of the series, in nanoseconds.
             */
            slice_ns: number;
        };
        /** @description The virtual machines that somebody has, of which a tile is a part. */
        EstateFacts: {
            /**
             * Format: uint32
             * @description How many there are.
             */
            vms: number;
            /**
             * Format: double
             * @description So many tiles are all of them.
             */
            tiles: number;
            /**
             * Format: uint64
             * @description What they hold, in bytes.
             */
            capacity_bytes: number;
            /**
             * Format: double
             * @description The share of them whose load was measured, 0 to 1; of the others it is assumed.
             */
            measured: number;
        };
        /** @description Something that happened during a run: one line of `events.jsonl`. */
        Event: {
            /**
             * Format: uint64
             * @description When, in nanoseconds from the start of the run on a clock that never steps.
             */
            at_ns: number;
            /** @description What. */
            kind: components["schemas"]["EventKind"];
        } & {
            [key: string]: unknown;
        };
        /** @description What happened. */
        EventKind: "run-start" | "run-end" | "prefill" | "larger-disks" | "step-start" | "step-end" | "verified" | "wrong-blocks" | "error" | string;
        /** @description `GET /api/v1/runs/{id}/events`: what happened, in the order in which it did. */
        EventList: {
            /** @description Lines of `events.jsonl`; their times are of the run's clock, pauses between steps included. */
            events: components["schemas"]["Event"][];
        };
        /** @description Something that was expected of a run, and what came of it. */
        Expected: {
            /** @description As the plan has it: `tiles >= 8`. */
            text: string;
            /** @description `passed`: it was met; `failed`: it was missed; `inconclusive`: the run does not say. */
            verdict: components["schemas"]["Verdict"];
            /** @description What was found, in a sentence. */
            reason: string;
            /** @description Unit of the numbers: `tiles`, `tiles' worth` or `ns`. */
            unit: string;
            /**
             * Format: double
             * @description What was found; null if nothing was.
             */
            found: number | null;
            /**
             * Format: double
             * @description Lower end of its interval; null if it has none.
             */
            low: number | null;
            /**
             * Format: double
             * @description Upper end of its interval; null if it has none, or is open.
             */
            high: number | null;
            /**
             * Format: uint32
             * @description Tiles of the step it was held against; null if it was the answer as a whole.
             */
            tiles?: number | null;
        };
        /** @description A fact of how a run was measured. */
        Fact: {
            /** @description `Seed`. */
            name: string;
            /** @description `42 (xoshiro256++/1)`. */
            value: string;
        };
        /** @description A number that may be absent, and then says why. Never NaN, never infinite. */
        Figure: {
            /**
             * Format: double
             * @description The number, in the unit the field's name or description gives; null if there is none.
             */
            value: number | null;
            /** @description Why there is no number; absent if there is one. */
            reason?: string | null;
        };
        /** @description Something to look at next. */
        Finding: {
            /** @description What kind. */
            id: string;
            /** @description The sentence, with its number, the limit it is held against and its samples. */
            text: string;
            /**
             * Format: double
             * @description What findings are ordered by, 0 to 1.
             */
            effect: number;
            /**
             * Format: uint64
             * @description I/Os or actions behind it.
             */
            samples: number;
            /** @description Where it is proven, as in [`Hero::link`]. */
            link: string;
        };
        /** @description Warnings of one code with one advice, as one. */
        FoldedWarning: {
            /** @description Stable identifier: `not-steady`. */
            id: string;
            /**
             * @description Where and how often it was given: `at 1, 2, 4 tiles, 24 times`; empty for what was said once of
             *     the run.
             */
            place: string;
            /**
             * @description What it means, and of what else: `the shop's limit on order was not tested; likewise mail's
             *     limit on send`.
             */
            text: string;
            /** @description Measured values, each once; empty if there are none. */
            found: string;
            /** @description Limits that they are held against, each once; empty if there are none. */
            allowed: string;
            /** @description What to try next, if anything helps. */
            hint: string | null;
        };
        /** @description One number of one slice. */
        Gauge: {
            /** @description What was measured. */
            name: components["schemas"]["GaugeName"];
            /** @description Of which: `host`, or the name of the thing that its name is of ([`GaugeName::scope`]). */
            scope: string;
            /**
             * Format: double
             * @description The value, in the unit of its name.
             */
            value: number;
        };
        /** @description What is measured. */
        GaugeName: "cpu.own" | "cpu.others" | "cpu.steal" | "cpu.waiting" | "pressure.memory" | "pressure.io" | "io.others" | "device.busy" | "device.queue" | "device.bytes" | "generator.paused" | "cpu.throttled" | "cpu.frequency" | "power.watts" | "part.utilisation" | "tier.capacity_bytes" | "tier.resident_bytes" | "tier.dirty_bytes" | "tier.reads" | "tier.read_hits" | "tier.read_bytes" | "tier.read_hit_bytes" | "tier.writes" | "tier.write_hits" | "tier.write_bytes" | "tier.write_hit_bytes" | "tier.writes_absorbed" | "tier.remote_hits" | "tier.memory_hits" | "tier.memory_held_bytes" | "tier.memory_taken_bytes" | "tier.filled_bytes" | "tier.placed_bytes" | "tier.evicted_bytes" | "tier.destaged_bytes" | "tier.tier_written_bytes";
        /** @description How the load generator itself fared: the measurement's alibi. */
        GeneratorHealth: {
            /**
             * Format: uint64
             * @description 99th percentile of how late due work was handled, in nanoseconds; null if nothing
             *     was due.
             */
            lateness_p99_ns: number | null;
            /**
             * Format: uint64
             * @description The longest lateness, in nanoseconds.
             * @default null
             */
            lateness_max_ns: number | null;
            /** @description Busiest worker thread's CPU time as a share of the measured time, 0 to 1. */
            worker_cpu_max: components["schemas"]["Figure"];
            /**
             * @description User-mode CPU time of the whole process per finished I/O, in microseconds, over the
             *     step with its warm-up.
             */
            cpu_user_us_per_io: components["schemas"]["Figure"];
            /** @description The same in the kernel, its helper threads for this process included. */
            cpu_system_us_per_io: components["schemas"]["Figure"];
            /**
             * Format: uint64
             * @description Requests that waited for a free slot of the generator itself.
             */
            queued: number;
            /** @description Mean number of I/Os in flight. */
            in_flight_mean: components["schemas"]["Figure"];
            /** @description Whether the generator, not the storage, was the limit. */
            saturated: boolean;
            /** @description What showed that it was saturated; absent if it was not. */
            reason?: string | null;
        };
        /**
         * @description One line. Each list has one entry a point; none where there was no I/O. For latency `mean`,
         *     `p50`, `p99` and `max` are of the point's merged histogram; for rates `mean` is of the whole
         *     point, `min` and `max` are of the slices in it.
         */
        Group: {
            /** @description Its value in the lens: `r`, `64k`, `shop`, `12` (a tile), `all`. */
            key: string;
            /** @description Its name for people. */
            label: string;
            /** @description I/Os in each point: a latency with few of them means little. */
            count: number[];
            /** @description Mean. */
            mean: (number | null)[];
            /** @description Least. */
            min: (number | null)[];
            /** @description Most. */
            max: (number | null)[];
            /** @description Median; empty for rates. */
            p50: (number | null)[];
            /** @description 95th percentile; empty for rates. */
            p95: (number | null)[];
            /** @description 99th percentile; empty for rates. */
            p99: (number | null)[];
            /** @description Part of all waiting in the point, 0 to 1 (contribution to latency); empty for rates. */
            wait_share: (number | null)[];
        };
        /** @description The answer of a run in parts, each said once: what is printed first and large. */
        Headline: {
            /** @description `passed`, `failed`, `inconclusive` or `interrupted`. */
            verdict: string;
            /**
             * @description What to plan with, the tighter of speed and room first: `Plan with 24 VMs: 3 tiles at full size
             *     have room (64 GiB a tile, 200 GiB may be used), although ...`; none where nothing is known.
             */
            plan: string | null;
            /** @description What was scaled down to get it: `quick estimate, disks 1/512`; none at full size. */
            estimate: string | null;
            /** @description By speed: `26 to 29 tiles`, `at least 8 tiles`, `no tile`, `not known`. */
            speed: string;
            /** @description What belongs to it: `27 most likely, 95 % interval; score 22.40`. */
            speed_note: string;
            /** @description The same in the virtual machines that somebody has; none without an estate. */
            estate: string | null;
            /**
             * @description What infrastructure operations cost the tiles: `Operations 62 % of the time; the tiles' actions
             *     then took 1.23 times as long (1.10 to 1.40) as without.`; none where none ran.
             */
            operations: string | null;
            /** @description What breaks, or what ended the search, as a sentence. */
            breaks: string;
            /** @description Where it is proven: a page's path and query below the run, `map?step=5`. */
            link: string | null;
            /** @description Why it breaks, as a sentence. */
            why: string | null;
            /** @description What weakens the answer, the heaviest first. */
            doubts: components["schemas"]["Doubt"][];
        };
        /** @description `heatmap`: I/Os by time and service time. */
        HeatMap: {
            /** @description A sentence about it. */
            sentence: string;
            /** @description Begin of each column, nanoseconds on the run's axis. */
            at_ns: number[];
            /** @description Length of each column. */
            width_ns: number[];
            /**
             * @description Edges of the rows, nanoseconds, ascending, logarithmic: one more than there are rows. A
             *     row holds what is longer than its lower and at most its upper edge; the first and the
             *     last also hold what lies beyond.
             */
            edges_ns: number[];
            /** @description Columns: pairs of row and I/Os, one after the other, rows without I/O left out. */
            columns: number[][];
            /** @description Longest in each column. */
            max_ns: (number | null)[];
            /** @description 99th percentile of each column. */
            p99_ns: (number | null)[];
            /**
             * Format: uint32
             * @description Most I/Os of any cell.
             */
            most: number;
        };
        /** @description A number that matters. */
        Hero: {
            /** @description What it is. */
            label: string;
            /** @description The number as it is printed, with its unit: `18,400 IOPS`, `0.9 ms`. */
            text: string;
            /**
             * Format: double
             * @description The number, unscaled.
             */
            value: number | null;
            /** @description Unit of `value`: `ns`, `io_per_s`, `call_per_s`, `bytes_per_s`, `tiles`, `share`. */
            unit: string;
            /** @description Over which time, and what it is held against. */
            note: string;
            /**
             * Format: uint64
             * @description Samples behind it.
             */
            samples: number | null;
            /** @description Its course over the lens's time, at most 60 points. */
            spark: (number | null)[];
            /** @description Where it is proven: a page's path and query below the run, `latency?s=p99`. */
            link: string;
        };
        /** @description What a host's processors did. */
        HostFacts: {
            /** @description `host-1`, `host-2`, ... */
            name: string;
            /**
             * Format: double
             * @description Share of all its cores that was used, 0 to 1, at whatever frequency they ran.
             */
            used: number;
            /**
             * Format: double
             * @description The same in cycles, as a share of those at the nominal frequency, as vCenter counts usage: more
             *     than `used` with turbo. Null where cores have one frequency, and it is the same.
             */
            cycles?: number | null;
            /**
             * Format: double
             * @description Share of all its cores that virtual machines may use.
             * @default 1
             */
            capacity: number;
            /**
             * Format: double
             * @description Largest of a second.
             */
            used_max_1s: number;
            /**
             * Format: double
             * @description Largest of sums over 20 seconds.
             */
            used_max_20s: number;
            /**
             * Format: double
             * @description Ready time per second of run, in seconds, of all its virtual machines.
             */
            ready: number;
            /**
             * Format: double
             * @description Largest of a second.
             */
            ready_max_1s: number;
            /**
             * Format: double
             * @description Largest of sums over 20 seconds, per second.
             */
            ready_max_20s: number;
        };
        /** @description What one of several hosts does. */
        HostRate: {
            /** @description Its name. */
            host: string;
            /**
             * Format: double
             * @description I/Os that ended well, a second.
             */
            operations_per_s: number;
            /**
             * Format: double
             * @description Bytes a second.
             */
            bytes_per_s: number;
        };
        /** @description One host's part of a step. */
        HostStep: {
            /** @description Its name. */
            host: string;
            /**
             * @description The tiles that were placed on it when the step began, from 0; `events` of the step say which went
             *     elsewhere.
             */
            tiles: number[];
            /**
             * Format: uint64
             * @description How long after the common moment its load began, by its own clock.
             */
            began_late_ns: number;
            /**
             * Format: uint64
             * @description By how much that moment may be wrong there.
             */
            clock_uncertainty_ns: number;
            /**
             * Format: uint64
             * @description Slices that were lost on the way and asked for again.
             */
            slices_fetched: number;
            /**
             * Format: uint64
             * @description The longest time for which its slices were waited for after those of the others.
             */
            slice_late_max_ns: number;
            /**
             * Format: double
             * @description Successful I/Os and calls per second.
             */
            operations_per_s: number;
            /**
             * Format: double
             * @description Bytes per second.
             */
            bytes_per_s: number;
            /** @description How long its I/Os and calls took against those of the other hosts. */
            against_others: components["schemas"]["AgainstOthers"];
            /** @description Each limit held against the samples of its `tiles` together, wherever they ran. */
            limits: components["schemas"]["PooledLimit"][];
            /** @description How its generator fared. */
            generator: components["schemas"]["GeneratorHealth"];
        };
        /** @description Count of tiles that passed before an overload and failed after it: the storage had not recovered. */
        Hysteresis: {
            /**
             * Format: uint32
             * @description Count of tiles that passed and then failed.
             */
            tiles: number;
            /**
             * Format: uint32
             * @description Count of tiles of the overload.
             */
            overload: number;
        };
        /** @description The range an estimate is expected to lie in. */
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
             * @description Share of such intervals that cover the true value: 0.95 for 95 %.
             */
            confidence: number;
            /** @description How it was computed, for example `bootstrap of 60 slices, 2000 resamples, seed 7`. */
            method: string;
        };
        /** @description All I/O of one direction in the measured time. */
        IoTotal: {
            /** @description Which way. */
            direction: components["schemas"]["Direction"];
            /**
             * Format: uint64
             * @description I/Os that succeeded.
             */
            count: number;
            /**
             * Format: uint64
             * @description I/Os that failed; they are not in the latencies.
             */
            errors: number;
            /**
             * Format: uint64
             * @description Bytes moved by those that succeeded.
             */
            bytes: number;
            /**
             * Format: double
             * @description Successful I/Os per second.
             */
            operations_per_s: number;
            /**
             * Format: double
             * @description Bytes per second.
             */
            bytes_per_s: number;
            /** @description Submitted to done. */
            service: components["schemas"]["Latency"];
            /** @description Intended start to done. */
            response: components["schemas"]["Latency"];
        };
        /** @description Where more cache begins to bring less (Satopää and others 2011). */
        KneeRow: {
            /** @description Whose. */
            vm: string;
            /**
             * Format: uint64
             * @description Page, bytes.
             */
            page_bytes: number;
            /**
             * Format: uint64
             * @description References to pages behind the curve.
             */
            references: number;
            /**
             * Format: uint64
             * @description Cache, bytes.
             */
            cache_bytes: number;
            /**
             * Format: double
             * @description Share of references that miss there.
             */
            miss_ratio: number;
            /**
             * Format: double
             * @description Share that misses in a cache of any size: first references.
             */
            miss_ratio_least: number;
        };
        /** @description What somebody called a run and noted of it; it means nothing to what was measured. */
        Labels: {
            /** @description A name beside the id; several runs may have the same. */
            name?: string | null;
            /** @description Values by key: `branch` is `main`. */
            tags?: {
                [key: string]: string;
            };
            /** @description A sentence for people. */
            note?: string | null;
        };
        /**
         * @description A latency distribution in a few numbers, all in nanoseconds. Percentiles are the upper
         *     edge of a histogram bucket, at most 0.8 % above the true value; all are null when there
         *     were no samples.
         */
        Latency: {
            /**
             * Format: uint64
             * @description How many samples there were.
             */
            samples: number;
            /**
             * Format: uint64
             * @description Exact mean, in nanoseconds, rounded down.
             */
            mean_ns: number | null;
            /**
             * Format: uint64
             * @description Median, in nanoseconds.
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
             * @description Maximum, in nanoseconds.
             */
            max_ns: number | null;
            /** @description Why the numbers are null; absent if they are not. */
            reason?: string | null;
        };
        /** @description `matrix`: where time goes: classes of sizes by service time. */
        LatencyMatrix: {
            /** @description A sentence: the first class whose 99th percentile breaks the limit, or that none does. */
            sentence: string;
            /**
             * @description Upper edges of the rows but the last: up to 20 us, 23 about logarithmic rows to 10 s, and
             *     above; 24 edges.
             */
            edges_ns: number[];
            /**
             * Format: uint64
             * @description What p99 is held against.
             */
            limit_ns: number;
            /** @description Where that comes from. */
            limit_source: string;
            /** @description Reads, then writes. */
            panels: components["schemas"]["MatrixPanel"][];
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
             * @description Number of steps in the plan; null if a search chose the steps.
             */
            steps_asked: number | null;
        };
        /** @description A limit and what was measured. */
        LimitHeld: {
            /** @description `order p95`. */
            name: string;
            /**
             * Format: uint64
             * @description Measured, nanoseconds.
             */
            measured_ns: number | null;
            /**
             * Format: uint64
             * @description Allowed, nanoseconds.
             */
            limit_ns: number;
            /**
             * Format: double
             * @description Measured by allowed.
             */
            ratio: number | null;
            /**
             * Format: uint64
             * @description Samples.
             */
            samples: number;
            /** @description `passed`, `failed` or `inconclusive`. */
            verdict: string;
        };
        /** @description What a limit is on. */
        LimitOn: "action" | "io" | "call";
        /** @description A limit and what was measured against it. */
        LimitResult: {
            /** @description Whether `name` is an action (response time) or a kind of I/O (service time). */
            on: components["schemas"]["LimitOn"];
            /** @description The action or kind of I/O. */
            name: string;
            /** @description `mean`, `max` or a percentile: `p95`, `p99.9`. */
            statistic: components["schemas"]["Statistic"];
            /**
             * Format: uint64
             * @description The limit, in nanoseconds.
             */
            limit_ns: number;
            /**
             * Format: uint64
             * @description What was measured, in nanoseconds; null if there were too few samples.
             */
            measured_ns: number | null;
            /**
             * Format: uint64
             * @description Lower end of its interval, in nanoseconds; null if it has none.
             */
            interval_low_ns: number | null;
            /**
             * Format: uint64
             * @description Upper end of its interval, in nanoseconds; null if it has none.
             */
            interval_high_ns: number | null;
            /**
             * Format: double
             * @description Share of such intervals that cover the true value: 0.95 for 95 %; null without one.
             */
            confidence: number | null;
            /**
             * Format: uint64
             * @description Samples the measurement stands on.
             */
            samples: number;
            /**
             * Format: uint64
             * @description How many of them had not finished when the window ended, and had been waited for longer
             *     than the limit: each is a lower bound.
             */
            unfinished?: number;
            /**
             * Format: double
             * @description How probable it is that the limit was broken, from how blocks of the window differ;
             *     null if the samples do not say.
             */
            chance_of_break?: number | null;
            /** @description Whether it held. */
            verdict: components["schemas"]["Verdict"];
            /** @description Room left, as a share of the limit: `(limit - measured) / limit`; negative if broken. */
            margin: components["schemas"]["Figure"];
            /** @description Why the verdict is what it is, if that is not plain from the numbers. */
            reason?: string | null;
        };
        /** @description A limit while it is measured. */
        LiveLimit: {
            /** @description `shop order p95`. */
            name: string;
            /**
             * Format: uint64
             * @description Measured so far, nanoseconds; none without samples.
             */
            measured_ns: number | null;
            /**
             * Format: uint64
             * @description Allowed, nanoseconds.
             */
            limit_ns: number;
            /**
             * Format: double
             * @description Measured as a share of what is allowed: above 1 it is broken so far.
             */
            share: number | null;
        };
        /** @description What a run does. */
        LivePhase: "preparing" | "warm-up" | "measured" | "judging" | "ended";
        /**
         * @description How a run goes; also what `GET /api/v1/runs/{id}/live` sends about once a second
         *     (server-sent events named `state`; the last one is named `end`).
         */
        LiveState: {
            /**
             * Format: uint64
             * @description Grows with every change: views are asked for again when it does.
             */
            version: number;
            /** @description What it does. */
            phase: components["schemas"]["LivePhase"];
            /**
             * @description What is known of the answer so far: `Held so far: 8 tiles. Trying 12, about 2 min left.`
             * @default
             */
            headline: string;
            /** @description One sentence: what runs, how far it is, what users feel. */
            sentence: string;
            /**
             * Format: uint32
             * @description Tiles in the step.
             */
            tiles: number;
            /**
             * Format: uint64
             * @description Time under load so far, nanoseconds.
             */
            elapsed_ns: number;
            /**
             * Format: uint64
             * @description Time left of this part of the step at most, nanoseconds.
             */
            left_ns: number | null;
            /**
             * @description Time left of the whole run in words: `about 2 min left`; none where nobody can tell.
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
             * @description I/Os a second in the last second.
             */
            operations_per_s: number;
            /**
             * Format: double
             * @description Calls answered well in the last second; none where no calls are made, or before it is known.
             * @default null
             */
            calls_per_s: number | null;
            /**
             * Format: double
             * @description Bytes a second in the last second.
             */
            bytes_per_s: number;
            /**
             * Format: uint64
             * @description 99th percentile of the service time in the last second, of I/Os or, without any, of calls;
             *     nanoseconds.
             */
            p99_ns: number | null;
            /**
             * @description Limits of the running step, all tiles together, the one with the least room first.
             * @default []
             */
            limits: components["schemas"]["LiveLimit"][];
            /**
             * @description Sentences that weaken what is seen: others whose work is in the way now, steps that were
             *     disturbed, and why the last step decided nothing.
             * @default []
             */
            doubts: string[];
            /**
             * @description What each of several hosts did in the last slice; none of one machine, nor where another process
             *     runs it.
             * @default []
             */
            hosts: components["schemas"]["HostRate"][];
            /**
             * Format: uint64
             * @description Slices that the live view did not get because it was behind; of a recording, batches of
             *     I/Os.
             */
            lost_slices: number;
        };
        /** @description A cell of [`LoadMatrix`]. */
        LoadCell: {
            /** @description `read` or `write`. */
            direction: string;
            /**
             * Format: uint8
             * @description Class of sizes, 0 to 7.
             */
            class: number;
            /**
             * Format: uint32
             * @description Position of the column.
             */
            column: number;
            /**
             * Format: uint64
             * @description I/Os.
             */
            count: number;
            /**
             * Format: uint64
             * @description 99th percentile of the service time.
             */
            p99_ns: number;
            /** @description Whether there are 30 I/Os or more. */
            is_enough: boolean;
        };
        /** @description A host that drove a part of the load. */
        LoadHost: {
            /** @description Its name in this run. */
            name: string;
            /** @description How it was reached, as `--host` has it. */
            reached: string;
            /** @description The kernel's name of it. */
            hostname: string;
            /** @description The program there; the same version as here. */
            version: string;
            /**
             * Format: int64
             * @description How far its monotonic clock was ahead of the controller's when it joined, in nanoseconds; a clock
             *     counts from its host's start, so the number itself means nothing.
             */
            clock_ahead_ns: number;
            /**
             * Format: uint64
             * @description By how much that may be wrong: half of the quickest round trip.
             */
            clock_uncertainty_ns: number;
            /**
             * Format: uint64
             * @description The quickest round trip of a question and its answer.
             */
            round_trip_ns: number;
            /** @description The target as that host sees it, in one line. */
            target_summary: string;
            /** @description Where its disks were. */
            path: string;
        };
        /** @description `breaks`: where it breaks: classes of sizes by load. */
        LoadMatrix: {
            /** @description A sentence: the least load at which a class breaks the limit. */
            sentence: string;
            /** @description What the columns are: `tiles` or `outstanding`. */
            load: string;
            /** @description Names of the columns, least load first. */
            columns: string[];
            /**
             * Format: uint64
             * @description What p99 is held against.
             */
            limit_ns: number;
            /** @description Where that comes from. */
            limit_source: string;
            /** @description Filled cells. */
            cells: components["schemas"]["LoadCell"][];
        };
        /** @description One number of the machine over time. */
        MachineGauge: {
            /** @description Its name in `gauges.parquet`: `cpu.others`. */
            name: string;
            /** @description What a person reads beside it. */
            title: string;
            /** @description `host`, or a device. */
            scope: string;
            /** @description `share`, `bytes_per_s`, `watts` or `count`. */
            unit: string;
            /** @description Mean of each point; none where it was not read. */
            mean: (number | null)[];
            /** @description Most of each point. */
            max: (number | null)[];
        };
        /** @description `machine`: what else the machine did while load was on, and when it was in the way. */
        MachinePage: {
            /** @description A sentence about it. */
            sentence: string;
            /** @description Begin of each point on the run's axis, nanoseconds. */
            at_ns: number[];
            /** @description Length of each point. */
            width_ns: number[];
            /** @description What was not near zero all the time. */
            gauges: components["schemas"]["MachineGauge"][];
            /** @description Titles of what was near zero all the time. */
            idle: string[];
            /** @description Steps in which others were in the way. */
            disturbed: components["schemas"]["DisturbedSpan"][];
        };
        /** @description One workload of one tile; of a recorded trace one VM. */
        MapItem: {
            /** @description `tile-3/shop`, or the VM. */
            name: string;
            /**
             * Format: uint32
             * @description Tile, from 1; 0 for a recorded trace.
             */
            tile: number;
            /** @description Workload. */
            workload: string;
            /**
             * @description Host it ran on, if the run has several (`host-1, host-3` where its VMs are on both); of what
             *     was recorded, the machine, if it is known.
             */
            host: string | null;
            /**
             * Format: uint64
             * @description I/Os.
             */
            count: number;
            /**
             * Format: double
             * @description I/Os a second.
             */
            operations_per_s: number;
            /**
             * Format: double
             * @description Bytes a second.
             */
            bytes_per_s: number;
            /**
             * Format: uint64
             * @description Bytes.
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
             * @description 99th percentile.
             */
            p99_ns: number | null;
            /** @description The limit it is nearest to, or furthest above, in the last step of the lens. */
            limit: components["schemas"]["LimitHeld"] | null;
            /** @description Its course over the lens's time, at most 12 points. */
            trail: components["schemas"]["TrailPoint"][];
        };
        /** @description `map`: who does how much, and how it fares. */
        MapPage: {
            /** @description A sentence: who does most, who is nearest to its limit. */
            sentence: string;
            /** @description Every workload of every tile in the lens, the most I/O first. */
            items: components["schemas"]["MapItem"][];
        };
        /** @description One direction of the matrix. */
        MatrixPanel: {
            /** @description `read` or `write`. */
            direction: string;
            /** @description By class (8), by row (25): I/Os. */
            cells: number[][];
            /** @description By class: 99th percentile. */
            p99_ns: (number | null)[];
            /** @description By class: I/Os. */
            count: number[];
            /**
             * Format: uint8
             * @description The first class whose p99 breaks the limit, 30 I/Os or more.
             */
            first_break: number | null;
        };
        /** @description What a meter showed in the measured time of a step. */
        MeterEnergy: {
            /** @description Its name. */
            meter: string;
            /** @description Which part of the system it sees. */
            scope: components["schemas"]["MeterScope"];
            /** @description Energy of exactly the measured time; absent where the samples do not carry it. */
            joules: components["schemas"]["Figure"];
            /** @description The same by the time. */
            mean_watts: components["schemas"]["Figure"];
            /**
             * Format: double
             * @description The largest single sample; null without any.
             */
            most_watts: number | null;
            /** @description How energy was made of samples; null if it was not. */
            by: components["schemas"]["EnergyBy"] | null;
            /**
             * Format: uint64
             * @description Samples in the measured time.
             */
            samples: number;
            /**
             * Format: uint64
             * @description The longest time between two samples, in nanoseconds.
             */
            gap_max_ns: number;
            /** @description What went wrong with it meanwhile, each once. */
            faults?: string[];
        };
        /** @description A meter that was read beside the run. */
        MeterFacts: {
            /** @description Its name in this run: the scope of its gauges. */
            name: string;
            /** @description As it was asked for; what is secret is not in it. */
            asked: string;
            /** @description Which part of the system it sees. */
            scope: components["schemas"]["MeterScope"];
            /** @description The hosts that it is of; empty where there is only one. */
            of?: string[];
            /** @description What it says that it is. */
            model: string;
            /** @description How it comes by its numbers. */
            method: components["schemas"]["MeterMethod"];
            /**
             * Format: uint64
             * @description Time between two samples, in nanoseconds.
             */
            period_ns: number;
            /**
             * Format: double
             * @description The smallest step of its watts; null where nobody knows.
             */
            resolution_watts: number | null;
            /**
             * Format: double
             * @description The smallest step of its counter, in joules; null if it has none.
             */
            counter_step_joules: number | null;
            /**
             * Format: double
             * @description By which share of the reading it may be wrong, as it or its maker says; null if neither does.
             */
            uncertainty: number | null;
            /** @description Mean watts before the first step, with nothing asked of the storage. */
            idle_watts: components["schemas"]["Figure"];
            /** @description What a reader should know of it. */
            notes?: string[];
        };
        /** @description How a meter comes by its numbers. */
        MeterMethod: "measured" | "averaged" | "estimated" | "modelled";
        /** @description Which part of the system under test a meter sees. */
        MeterScope: "host" | "storage" | "rack" | "processor";
        /** @description How much work a workload did. */
        MetricResult: {
            /** @description Work per time, in `unit`; absent if the workload is load only. */
            value: components["schemas"]["Figure"];
            /** @description Unit of `value` and `reference`: `orders/min`. */
            unit: string;
            /** @description The value that counts as one tile's worth, in `unit`. */
            reference: components["schemas"]["Figure"];
            /** @description Where the reference comes from. */
            reference_origin: components["schemas"]["ReferenceOrigin"];
            /** @description `value / reference`: what enters the tile's geometric mean. */
            normalised: components["schemas"]["Figure"];
        };
        /** @description A point of a miss-ratio curve. */
        MissRatioRow: {
            /** @description Whose. */
            vm: string;
            /**
             * Format: uint64
             * @description Page, bytes.
             */
            page_bytes: number;
            /**
             * Format: uint64
             * @description Cache, bytes.
             */
            cache_bytes: number;
            /**
             * Format: double
             * @description Share of references to pages, reads and writes alike, that miss an LRU cache.
             */
            miss_ratio: number;
            /**
             * Format: double
             * @description Share of the pages that was looked at; 1 is exact.
             */
            sampled_share: number;
        };
        /** @description Error of a model that was fitted to measured storage. */
        ModelError: {
            /**
             * @description Interval of the most tiles that hold without the error of the model; null if no step above
             *     was decided.
             */
            searched: components["schemas"]["TilesInterval"] | null;
            /** @description True if the interval of the answer includes the error of the model. */
            is_interval_widened: boolean;
            /** @description True if the error is too large for the count of tiles to be an answer. */
            is_too_far: boolean;
            /** @description Size of the error in words, from the calibration. */
            text: string;
        };
        /**
         * @description What the parts of the modelled storage and hosts did in the measured time of a simulated
         *     step. Real storage does not say; of a real step at most the host is known, by what the
         *     system says of its processors.
         */
        ModelFacts: {
            /** @description Every part, in the order an I/O meets them; equal parts are one entry. */
            parts: components["schemas"]["PartFacts"][];
            /** @description Every tier, and memory that answers reads. */
            tiers: components["schemas"]["TierFacts"][];
            /** @description Every host. */
            hosts: components["schemas"]["HostFacts"][];
            /**
             * @description Every virtual machine with virtual CPUs of its own; those of the same name in several
             *     tiles are one entry.
             */
            vms?: components["schemas"]["VmFacts"][];
            /** @description Where each workload of each tile ran; absent where there are no hosts. */
            places?: components["schemas"]["PlaceFacts"][];
            /**
             * Format: uint64
             * @description Events the simulation handled, warm-up included.
             */
            events: number;
            /** @description Bytes of different pages touched since the start, by tile. */
            touched_bytes: number[];
        };
        /** @description `moment`: what happened at one time. */
        Moment: {
            /** @description A sentence about it. */
            sentence: string;
            /**
             * Format: uint64
             * @description Its begin, nanoseconds on the run's axis.
             */
            at_ns: number;
            /**
             * Format: uint64
             * @description Its length.
             */
            width_ns: number;
            /** @description By direction and class of sizes. */
            sizes: components["schemas"]["SizeRow"][];
            /** @description At most ten, the longest waiting first. */
            top: components["schemas"]["MapItem"][];
            /** @description Edges of the buckets below, nanoseconds, one more than buckets. */
            edges_ns: number[];
            /** @description I/Os by service time in this moment. */
            counts: number[];
            /** @description The same as shares of all I/Os of the moment, 0 to 1. */
            shares: number[];
            /** @description I/Os by service time in the whole lens. */
            counts_of_all: number[];
            /** @description The same as shares of all I/Os in the lens, 0 to 1. */
            shares_of_all: number[];
            /** @description What happened around it. */
            events: components["schemas"]["MomentEvent"][];
            /**
             * Format: uint64
             * @description The next spike before it: a local maximum of p99.
             */
            previous_spike_ns: number | null;
            /**
             * Format: uint64
             * @description The next spike after it.
             */
            next_spike_ns: number | null;
        };
        /** @description Something that happened. */
        MomentEvent: {
            /**
             * Format: uint64
             * @description When, nanoseconds on the run's axis.
             */
            at_ns: number;
            /** @description What kind. */
            kind: string;
            /** @description In words. */
            text: string;
        };
        /** @description Step that did not run. */
        NextStep: {
            /**
             * Format: uint32
             * @description Count of tiles.
             */
            tiles: number;
            /**
             * Format: uint32
             * @description Repeat, from 1.
             */
            repeat: number;
        };
        /** @description Infrastructure operations that ran beside the tiles. */
        OperationsFacts: {
            /** @description The group, as the plan names it. */
            name: string;
            /** @description SHA-256 of the resolved definitions, in hexadecimal. */
            sha256: string;
            /**
             * Format: uint64
             * @description Bytes of their disks, after scaling; they are there once however many tiles run.
             */
            disk_bytes: number;
        };
        /** @description Where a plan value came from; an earlier one overrides a later one. */
        Origin: "flag" | "env" | "plan" | "config" | "profile" | "default";
        /** @description Time limit that ended a search before an edge was found. */
        OutOfTime: {
            /**
             * Format: uint64
             * @description Time limit, in nanoseconds.
             */
            time_ns: number;
            /**
             * @description Steps left out, if the limit is the real time of a simulation (`--within`); null if the
             *     limit is the budget of the search.
             */
            left_out: components["schemas"]["LeftOut"] | null;
        };
        /** @description `overview`: the answer, four numbers, what to look at next, and the block sizes. */
        Overview: {
            /** @description What ran, and whether users would feel it. */
            sentence: string;
            /** @description What causes it. */
            cause: string;
            /** @description `passed`, `failed`, `inconclusive`, `interrupted`, `running` or `observed`. */
            verdict: string;
            /** @description Four numbers. */
            heroes: components["schemas"]["Hero"][];
            /** @description At most three. */
            findings: components["schemas"]["Finding"][];
            /** @description By direction and class of sizes. */
            sizes: components["schemas"]["SizeRow"][];
            /** @description Flushes, which have no size (class 0); shares of `sizes` and these add up to 1. */
            flushes: components["schemas"]["SizeRow"] | null;
            /** @description A sentence about the sizes. */
            sizes_sentence: string;
        };
        /** @description A part, or several equal ones together. */
        PartFacts: {
            /** @description Its name in the array's file, such as `pool lun1`, and what of it: `pool lun1 disks`. */
            name: string;
            /** @description What it is. */
            kind: components["schemas"]["PartKind"];
            /**
             * Format: uint32
             * @description How many equal parts this entry is the sum of.
             */
            count: number;
            /**
             * Format: double
             * @description Mean share of the time that its servers were busy, 0 to 1.
             */
            utilisation: number;
            /**
             * Format: double
             * @description The same for the busiest of them.
             */
            utilisation_max: number;
            /**
             * Format: double
             * @description I/Os per second of all of them together.
             */
            iops: number;
            /**
             * Format: double
             * @description Bytes per second of all of them together.
             */
            bytes_per_s: number;
            /**
             * Format: double
             * @description Mean number inside, waiting or served, of all of them together.
             */
            inside: number;
        };
        /** @description What a part of a model is. */
        PartKind: "disk" | "tier-disk" | "link" | "queue" | "processor" | "write-memory";
        /** @description A score by its power, in one of the field's categories. */
        PerKilowatt: {
            /** @description Which. */
            category: components["schemas"]["PowerCategory"];
            /** @description Mean watts of all that belongs to it, added up; absent where a part was not measured. */
            mean_watts: components["schemas"]["Figure"];
            /** @description The score by these watts in kilowatts: tiles' worth of work per kilowatt. */
            score_per_kilowatt: components["schemas"]["Figure"];
        };
        /** @description One distribution. */
        PercentileCurve: {
            /** @description As in [`super::Group::key`]. */
            key: string;
            /** @description Its name for people. */
            label: string;
            /**
             * Format: uint64
             * @description I/Os.
             */
            count: number;
            /** @description From share 0 to the highest that at least ten I/Os lie above, ascending, and the longest. */
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
             * @description Nanoseconds.
             */
            value_ns: number;
        };
        /** @description `percentiles`: distributions by the breakdown. */
        Percentiles: {
            /** @description A sentence about them. */
            sentence: string;
            /** @description `service` or `response`. */
            clock: string;
            /** @description One for each group. */
            curves: components["schemas"]["PercentileCurve"][];
        };
        /** @description Part of a step that a slice of time belongs to. */
        Phase: "warm-up" | "measured" | "ramp-down";
        /** @description Where a workload of a tile ran, its copies together. */
        PlaceFacts: {
            /**
             * Format: uint32
             * @description Tile, from 0.
             */
            tile: number;
            /** @description The workload's name. */
            workload: string;
            /** @description Names of the hosts of its virtual machines, each once: `host-1`. */
            hosts: string[];
        };
        /** @description One value of the resolved plan. */
        PlanValue: {
            /** @description Its place in the plan: `measure.duration`. */
            key: string;
            /** @description The value as the plan writes it. */
            value: unknown;
            /** @description Where it came from. */
            origin: components["schemas"]["Origin"];
        };
        /** @description One copy of a recorded load as it is played. */
        PlayedTrace: {
            /** @description The workload that plays it. */
            workload: string;
            /** @description The trace's file or directory. */
            trace: string;
            /** @description Its format. */
            format: string;
            /** @description The VM whose I/O is played; absent for everybody's. */
            vm?: string | null;
            /** @description Devices of the trace, in the order of the workload's disks. */
            devices: string[];
            /**
             * @description What an I/O waits for: `open` (its time), `closed` (the answer that its sender had last)
             *     or `one-at-a-time` (the I/O before it).
             */
            pace: string;
            /** @description `1x`, `2x`, `max`. */
            speed: string;
            /**
             * Format: uint64
             * @description I/Os of one copy.
             */
            ios: number;
            /**
             * Format: uint64
             * @description Bytes that they read and write.
             */
            bytes: number;
            /**
             * Format: uint64
             * @description From the first to the last I/O in the trace, in nanoseconds.
             */
            trace_span_ns: number;
            /**
             * Format: uint64
             * @description Memory that holds it, for all copies together.
             */
            memory_bytes: number;
            /**
             * Format: uint64
             * @description Discards of the trace, which are never sent to storage.
             */
            discards: number;
            /**
             * Format: uint64
             * @description Reads and writes of no bytes, which are left out.
             */
            empty: number;
            /**
             * Format: uint64
             * @description Unit in which the storage takes requests, in bytes.
             */
            unit_bytes: number;
            /**
             * Format: uint64
             * @description I/Os whose begin or end was rounded outwards to that unit.
             */
            rounded: number;
            /**
             * Format: uint64
             * @description I/Os that lay beyond the end of a smaller disk and were folded into it.
             */
            folded: number;
            /**
             * Format: uint64
             * @description I/Os that were cut to the longest request there is.
             */
            cut: number;
        };
        /**
         * @description An action over all tiles of a step together: percentiles do not average, so they are
         *     taken from the samples of all tiles.
         */
        PooledAction: {
            /** @description The workload whose action it is. */
            workload: string;
            /** @description What was measured over all tiles. */
            result: components["schemas"]["ActionResult"];
        };
        /** @description A limit over all tiles of a step together. */
        PooledLimit: {
            /** @description The workload whose limit it is. */
            workload: string;
            /**
             * Format: uint32
             * @description The tile, from 0, in which the measured value was largest; null without samples.
             */
            worst_tile: number | null;
            /** @description The limit and what was measured over all tiles. */
            result: components["schemas"]["LimitResult"];
        };
        /** @description The three ways in which the field publishes a score. */
        PowerCategory: "performance-only" | "server-power" | "server-and-storage-power";
        /** @description What the machine was allowed to do about its power, before and after; it was only read. */
        PowerPolicies: {
            /** @description Before the first step. */
            before: components["schemas"]["PowerPolicy"][];
            /** @description After the last one; empty while it runs. */
            after?: components["schemas"]["PowerPolicy"][];
        };
        /** @description One setting of it. */
        PowerPolicy: {
            /** @description What is set: `governor`, `turbo`. */
            name: string;
            /** @description To what, with how many processors each where they differ. */
            value: string;
        };
        /** @description What filling the disks took. First writes and rewrites differ on thin storage. */
        Prefill: {
            /**
             * Format: uint64
             * @description Bytes that were written once.
             */
            bytes: number;
            /** @description Writing them the first time; null if they were there before. */
            first_write: components["schemas"]["RateFacts"] | null;
            /** @description Writing a part of them again; null if that was not measured. */
            rewrite: components["schemas"]["RateFacts"] | null;
            /**
             * Format: uint64
             * @description Bytes of disks that were used as an earlier run left them filled.
             * @default 0
             */
            prepared_before_bytes: number;
            /** @description Why `first_write` is null, where there is more to say: `prepared before`. */
            first_write_absent?: string | null;
        };
        /** @description Why there is no answer. */
        Problem: {
            /** @description What kind, as `docs/serve.md` lists them: `/problems/unknown-run`. */
            type: string;
            /** @description The kind in words, the same for all of the kind. */
            title: string;
            /** @description What was wrong this time, and what would be right. */
            detail: string;
            /**
             * Format: uint16
             * @description Status of the response, RFC 9110.
             */
            status: number;
        };
        /** @description A transfer. */
        RateFacts: {
            /**
             * Format: uint64
             * @description Bytes that were moved.
             */
            bytes: number;
            /**
             * Format: uint64
             * @description How long it took, in nanoseconds.
             */
            duration_ns: number;
            /**
             * Format: double
             * @description Mean speed, in bytes per second.
             */
            bytes_per_s: number;
            /** @description Latency of its I/Os, if it was recorded. */
            service?: components["schemas"]["Latency"] | null;
        };
        /** @description Where a reference value comes from. */
        ReferenceOrigin: "declared" | "ideal-storage" | "none";
        /** @description Something that cannot be said. */
        Remark: {
            /** @description What about. */
            what: string;
            /** @description Why not. */
            why: string;
        };
        /** @description How recorded loads were played in a step. */
        ReplayFacts: {
            /** @description Each recorded load of the tile. */
            traces: components["schemas"]["PlayedTrace"][];
            /**
             * Format: uint32
             * @description How many copies of them were played: one in each tile.
             */
            copies: number;
            /**
             * Format: uint32
             * @description Copies that were played to the last answer.
             */
            ended: number;
            /**
             * Format: uint64
             * @description From the start to the last answer of the copy that took longest, in nanoseconds; null if
             *     none came to its end.
             */
            elapsed_ns: number | null;
            /**
             * Format: uint64
             * @description I/Os handed to the storage, all copies.
             */
            submitted: number;
            /**
             * @description By how much I/Os were handed to the storage after they were due, whoever was the cause;
             *     without samples in a simulation, which is never late.
             */
            submission_error: components["schemas"]["Latency"];
            /**
             * Format: uint64
             * @description I/Os that were handed over more than 1 ms after they were due.
             */
            late_1ms: number;
        };
        /** @description Steps with disks of another size than those of the run's own steps. */
        Resized: {
            /**
             * @description Whether they are the search that came first: the run's own steps confirm its edge with larger disks. If not,
             *     they are the larger disks, with which nothing was decided.
             */
            is_search: boolean;
            /**
             * Format: double
             * @description Disk sizes were multiplied by this.
             */
            footprint: number;
            /**
             * Format: uint64
             * @description Bytes of one tile's disks.
             */
            tile_bytes: number;
            /**
             * Format: uint32
             * @description Most tiles that held in the search.
             */
            held: number;
            /**
             * Format: uint32
             * @description Least tiles above them that did not.
             */
            failed: number;
            /** @description Steps in the order they ran. No step of the run has the number of one of them. */
            steps: components["schemas"]["Step"][];
        };
        /** @description Kinds of what can be at its limit. */
        Resource: "disk" | "tier" | "link" | "controller" | "queue" | "host-cpu" | "vm-cpu" | "device" | "flush" | "generator" | "capacity" | "none-seen";
        /** @description One run: what was asked, what happened, what it means. The document behind `run.json`. */
        Run: {
            /** @description Name and version of this format: `tilemark.run/1.0`. Minor versions only add fields. */
            schema: string;
            /** @description The run's id, which is also its directory's name. */
            id: string;
            /** @description What somebody called it and noted of it; absent if nobody did. */
            labels?: components["schemas"]["Labels"];
            /** @description When the run started (RFC 3339, UTC). */
            started: string;
            /** @description When the run ended (RFC 3339, UTC); null while it runs. */
            ended: string | null;
            /** @description The program that measured. */
            tool: components["schemas"]["ToolFacts"];
            /**
             * Format: uint64
             * @description The seed every random stream of the run derives from.
             */
            seed: number;
            /** @description Name and version of the random generator, so that a seed keeps its meaning. */
            random_generator: string;
            /** @description `quick`, `standard` or `full`. */
            profile: string;
            /** @description What was measured. */
            target: components["schemas"]["TargetFacts"];
            /** @description What it was measured with. */
            tile: components["schemas"]["TileFacts"];
            /** @description How the tile was scaled. */
            scale: components["schemas"]["ScaleFacts"];
            /** @description How load was made. */
            engine: components["schemas"]["EngineFacts"];
            /** @description The hosts that drove the load; empty if it was the one that wrote this. */
            hosts?: components["schemas"]["LoadHost"][];
            /** @description The meters of watts that were read beside it; empty without any. */
            meters?: components["schemas"]["MeterFacts"][];
            /** @description Power policies of this machine, where they were asked for. */
            power_policies?: components["schemas"]["PowerPolicies"] | null;
            /** @description SHA-256 of `plan.toml`, in hexadecimal. */
            plan_sha256: string;
            /** @description Every value of the resolved plan, and where it came from. */
            plan: components["schemas"]["PlanValue"][];
            /** @description What filling the disks took; null if they were filled before. */
            prefill: components["schemas"]["Prefill"] | null;
            /** @description Every step that was run, in the order it was run. */
            steps: components["schemas"]["Step"][];
            /** @description Steps with disks of another size; nothing where all disks had one size. */
            resized?: components["schemas"]["Resized"] | null;
            /** @description What it all means. */
            answer: components["schemas"]["Answer"];
            /** @description What was expected of it, and what came of that; empty if nothing was, or it has not ended. */
            expectations?: components["schemas"]["Expected"][];
            /** @description What a reader should know before trusting the numbers. */
            warnings: components["schemas"]["Warning"][];
        };
        /** @description Where a run's numbers come from. */
        RunKind: "measured" | "simulated" | "replayed" | "recorded" | "sample";
        /** @description `GET /api/v1/runs`: what is stored, newest first. */
        RunList: {
            /** @description The directory that was looked at. */
            base: string;
            /** @description Its runs, and a sample run if there is none. */
            runs: components["schemas"]["RunRow"][];
        };
        /** @description `GET /api/v1/runs/{id}`: what does not depend on the lens. */
        RunPage: {
            /** @description Its line in the list. */
            row: components["schemas"]["RunRow"];
            /**
             * @description The answer in parts; none while the run goes on, and of what was only observed.
             * @default null
             */
            headline: components["schemas"]["Headline"] | null;
            /**
             * @description Warnings of the run and its steps, folded.
             * @default []
             */
            warnings: components["schemas"]["FoldedWarning"][];
            /**
             * @description How it was measured; empty without `run.json`.
             * @default []
             */
            facts: components["schemas"]["Fact"][];
            /** @description `run.json`; none if it could not be read yet. */
            run: components["schemas"]["Run"] | null;
            /** @description `env.json`. */
            environment: unknown;
            /** @description `preflight.json`. */
            preflight: unknown;
            /** @description `plan.toml`, as text. */
            plan: string | null;
            /** @description `SHA256SUMS`, as text; none while the run goes on. */
            checksums: string | null;
            /** @description What can be chosen in the lens. */
            dimensions: components["schemas"]["Dimensions"];
            /** @description The steps on the run's axis, in the order in which they ran. */
            steps: components["schemas"]["StepSpan"][];
            /**
             * Format: uint64
             * @description The end of the axis, nanoseconds.
             */
            end_ns: number;
            /**
             * Format: uint64
             * @description The finest step of time that can be asked for, nanoseconds.
             */
            slice_ns: number;
            /** @description How it goes, while it runs. */
            live: components["schemas"]["LiveState"] | null;
        };
        /** @description One line of the list of runs. */
        RunRow: {
            /** @description Its id, as in paths. */
            id: string;
            /** @description Where its numbers come from. */
            kind: components["schemas"]["RunKind"];
            /** @description How far it is. */
            state: components["schemas"]["RunState"];
            /** @description `complete`, `ended-early`, `interrupted` or `inconclusive`; none while it runs. */
            status: string | null;
            /** @description When it began, RFC 3339, UTC. */
            started: string;
            /**
             * Format: uint64
             * @description Time under load, nanoseconds.
             */
            duration_ns: number;
            /** @description What ran: the tile's name, or the trace's. */
            tile: string;
            /** @description On what, one line. */
            target: string;
            /** @description The answer, one sentence. */
            sentence: string;
            /**
             * Format: uint32
             * @description Tiles held, if the run asked.
             */
            tiles_held: number | null;
            /**
             * @description The same with its interval: `26 to 29 tiles`, `at least 8 tiles`.
             * @default null
             */
            tiles: string | null;
            /**
             * @description The profile: `quick`, `standard`, `full`; none of what was only observed.
             * @default null
             */
            profile: string | null;
            /**
             * @description What was scaled down: `disks 1/512`; none at full size.
             * @default null
             */
            scale: string | null;
            /**
             * Format: uint32
             * @description Steps in which other work was in the way.
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
             * @description Bytes of the directory.
             */
            size_bytes: number;
            /** @description I/Os a second over the run, at most 60 points, each the mean of its part. */
            spark: number[];
            /** @description Why it cannot be read, if so. */
            error: string | null;
        };
        /** @description How far a run is. */
        RunState: "complete" | "running" | "abandoned";
        /** @description How the tile was scaled. */
        ScaleFacts: {
            /**
             * Format: double
             * @description Disk sizes were multiplied by this; 1 is full size.
             */
            footprint: number;
            /**
             * Format: double
             * @description Schedule times (bursts, phases, drift) were multiplied by this; 1 is real time.
             */
            time: number;
        };
        /** @description A step's score: tiles' worth of work. */
        Score: {
            /** @description How the parts make the total, in a sentence. */
            definition: string;
            /** @description Each tile's part. */
            tiles: components["schemas"]["TileScore"][];
            /** @description Sum of the tiles' geometric means. */
            applications: components["schemas"]["Figure"];
            /**
             * @description Geometric mean of what each infrastructure operation was done, against its reference; absent
             *     where none ran.
             */
            infrastructure: components["schemas"]["Figure"];
            /** @description The score: 0.8 x `applications` + 0.2 x `infrastructure`; absent without the second. */
            total: components["schemas"]["Figure"];
            /** @description The interval of `total`, or of `applications` where there is no total; null if it has none. */
            interval: components["schemas"]["Interval"] | null;
        };
        /**
         * @description `series`: a measure over time by a breakdown, decimated to the points asked for. `actions`
         *     and `calls`: the same of actions and of calls to endpoints; `iops` are of those then, in
         *     `actions_per_s` and `call_per_s`, and the time of an action is its response time.
         */
        Series: {
            /** @description A sentence about it. */
            sentence: string;
            /** @description `iops`, `bytes` (a second) or `latency`. */
            measure: string;
            /** @description `io_per_s`, `actions_per_s`, `call_per_s`, `bytes_per_s` or `ns`. */
            unit: string;
            /** @description Begin of each point on the run's axis, nanoseconds. */
            at_ns: number[];
            /** @description Length of each point, nanoseconds. */
            width_ns: number[];
            /** @description Lines, in the breakdown's order. */
            groups: components["schemas"]["Group"][];
            /** @description I/Os of all lines in each point. */
            count: number[];
            /** @description The same a second of time under load. */
            operations_per_s: number[];
            /**
             * Format: uint64
             * @description What latencies are held against, if there is a limit on I/O.
             */
            limit_ns: number | null;
            /**
             * Format: uint32
             * @description Groups that were left out because there are too many, the least first.
             */
            left_out: number;
        };
        /** @description A tier that was served on the machine that drove the load, before the datastore. */
        ServedTier: {
            /** @description Where it lay, as given. */
            datastore: string;
            /** @description One line a person recognises. */
            summary: string;
            /** @description When a write was answered: `through` when the datastore had it, `back` when the tier's log had it. */
            mode: string;
            /**
             * Format: uint64
             * @description Room for pages and logs together.
             */
            size_bytes: number;
            /**
             * Format: uint64
             * @description Bytes of a page.
             */
            page_bytes: number;
            /**
             * Format: uint8
             * @description Of the room, percent for logs.
             */
            log_percent: number;
            /** @description Which page left. */
            policy: string;
            /**
             * Format: uint8
             * @description The access that brought a page in.
             */
            admission: number;
        };
        /** @description One class of sizes in one direction. */
        SizeRow: {
            /** @description `read` or `write`; `flush` in [`Overview::flushes`]. */
            direction: string;
            /**
             * Format: uint8
             * @description Position of the class, 0 to 7, smallest first.
             */
            class: number;
            /**
             * Format: uint64
             * @description I/Os.
             */
            count: number;
            /**
             * Format: uint64
             * @description Bytes.
             */
            bytes: number;
            /**
             * Format: double
             * @description Of all I/Os in the lens, 0 to 1.
             */
            share_of_count: number;
            /**
             * Format: double
             * @description Of all bytes in the lens.
             */
            share_of_bytes: number;
            /**
             * Format: uint64
             * @description All service times added, nanoseconds.
             */
            wait_ns: number;
            /**
             * Format: double
             * @description Of all waiting in the lens: what made it slow.
             */
            share_of_wait: number;
            /**
             * Format: uint64
             * @description Median service time, nanoseconds; none without I/O.
             */
            p50_ns: number | null;
            /**
             * Format: uint64
             * @description 95th percentile.
             */
            p95_ns: number | null;
            /**
             * Format: uint64
             * @description 99th percentile.
             */
            p99_ns: number | null;
            /**
             * Format: uint64
             * @description Longest.
             */
            max_ns: number | null;
        };
        /** @description What a limit is held against. In files and on screens `p95`, `p99.9`, `mean` or `max`. */
        Statistic: string;
        /** @description How far the question was answered. */
        Status: "complete" | "interrupted" | "inconclusive";
        /** @description Whether the measured time was steady. */
        Steady: {
            /** @description The rule it was held against. */
            rule: string;
            /** @description Whether it was met; null if there was too little to hold against it. */
            reached: boolean | null;
            /** @description What the rule saw. */
            detail: string;
        };
        /** @description One repeat of one step of the ladder. */
        Step: {
            /**
             * Format: uint32
             * @description Step of the ladder, from 1, in the order the ladder visited tile counts; with
             *     `repeat` the key into the series.
             */
            step: number;
            /**
             * Format: uint32
             * @description Repeat of the step, from 1.
             */
            repeat: number;
            /**
             * Format: uint32
             * @description Place among everything that was run, from 1.
             */
            order: number;
            /**
             * Format: uint32
             * @description Tiles that ran at the same time.
             */
            tiles: number;
            /**
             * Format: uint32
             * @description Virtual machines in those tiles.
             */
            vms: number;
            /** @description When its load started (RFC 3339, UTC): time 0 of its rows in the series. */
            started: string;
            /** @description Whether every limit held. */
            verdict: components["schemas"]["Verdict"];
            /** @description Why, in a sentence. */
            reason: string;
            /** @description Why, for programs; absent in runs of earlier versions. */
            cause?: components["schemas"]["Cause"] | null;
            /** @description Whose work was in the way, whatever the verdict. */
            disturbances?: components["schemas"]["Disturbance"][];
            /** @description What was at its limit; absent in runs of earlier versions. */
            bottleneck?: components["schemas"]["Bottleneck"] | null;
            /** @description What the action whose limit broke waited for, largest share first; empty if none broke. */
            waits?: components["schemas"]["Wait"][];
            /**
             * @description What gauges of the machine, of devices, of a model and of meters came to over the measured
             *     time; empty where nobody looked. Runs of earlier versions have those of the machine alone.
             */
            gauges?: components["schemas"]["Gauge"][];
            /** @description How it warmed up. */
            warm_up: components["schemas"]["WarmUp"];
            /** @description Whether the measured time was steady; absent in runs of earlier versions. */
            steady?: components["schemas"]["Steady"] | null;
            /**
             * Format: uint64
             * @description Measured time, in nanoseconds.
             */
            measured_ns: number;
            /** @description What each workload reached. */
            workloads: components["schemas"]["WorkloadResult"][];
            /**
             * @description Each limit held against the samples of all tiles together, which is what decides the
             *     step; the limits of `workloads` are those of one tile alone.
             * @default []
             */
            limits: components["schemas"]["PooledLimit"][];
            /** @description Each action over all tiles together; those of `workloads` are one tile's alone. */
            actions?: components["schemas"]["PooledAction"][];
            /** @description All I/O of the measured time by direction. */
            io: components["schemas"]["IoTotal"][];
            /** @description All calls of the measured time by workload and kind; absent without any. */
            calls?: components["schemas"]["CallTotal"][];
            /** @description Work of the measured time per second. */
            throughput: components["schemas"]["Throughput"];
            /** @description The step's score; null if none could be computed. */
            score: components["schemas"]["Score"] | null;
            /** @description Watts of the measured time; absent without a meter. */
            power?: components["schemas"]["StepPower"] | null;
            /** @description How the load generator fared; a saturated one makes the step inconclusive. */
            generator: components["schemas"]["GeneratorHealth"];
            /** @description What each host's part came to, where several drove it. */
            hosts?: components["schemas"]["HostStep"][];
            /** @description What infrastructure operations cost the tiles, where any ran. */
            under_operations?: components["schemas"]["UnderOperations"] | null;
            /** @description What happened to hosts, in the order in which it was begun; absent if nothing did. */
            events?: components["schemas"]["StepEvent"][];
            /** @description Checks of the measurement against itself. */
            checks: components["schemas"]["Check"][];
            /** @description What a reader should know before trusting this step. */
            warnings: components["schemas"]["Warning"][];
            /** @description What the modelled parts did; absent on real storage, or the host alone. */
            model?: components["schemas"]["ModelFacts"] | null;
            /** @description What was played of recorded loads, and how punctually; absent without any. */
            replay?: components["schemas"]["ReplayFacts"] | null;
        };
        /**
         * @description Something that happened to hosts while a step ran. Times are nanoseconds from the start of the step,
         *     where its rows in the series have 0, by the controller's clock unless they say otherwise.
         */
        StepEvent: {
            /** @description What. */
            kind: components["schemas"]["StepEventKind"];
            /** @description To which host; absent where tiles were moved to be spread evenly. */
            host?: string | null;
            /**
             * Format: uint64
             * @description When the plan wanted it, from the beginning of the measured time; absent if nobody planned it.
             */
            planned_ns?: number | null;
            /**
             * Format: uint64
             * @description When it was begun: the order left, or the last sign of life of a host that was lost arrived.
             */
            began_ns: number;
            /**
             * Format: uint64
             * @description When it was over: the last tile went on, or the host did; absent if it never was.
             */
            ended_ns?: number | null;
            /**
             * Format: uint64
             * @description When it was noticed that a host was lost.
             */
            noticed_ns?: number | null;
            /**
             * Format: uint64
             * @description From the last sign of life until that was noticed.
             */
            detection_ns?: number | null;
            /** @description What became of each tile. */
            tiles: components["schemas"]["TileMove"][];
            /** @description What the tiles of other hosts felt; absent where there were none. */
            survivors?: components["schemas"]["Survivors"] | null;
            /** @description What a reader should know; absent if there is nothing. */
            note?: string | null;
        };
        /** @description What happened to a host. */
        StepEventKind: "lose-host" | "stop-host" | "rebalance" | "drain" | "host-lost";
        /** @description Watts of a step's measured time. */
        StepPower: {
            /** @description Each meter's part. */
            meters: components["schemas"]["MeterEnergy"][];
            /** @description The step's score by its power. */
            per_kilowatt: components["schemas"]["PerKilowatt"][];
        };
        /** @description One part of one step on the run's axis. */
        StepSpan: {
            /**
             * Format: uint32
             * @description Step of the ladder, from 1.
             */
            step: number;
            /**
             * Format: uint32
             * @description Repeat, from 1.
             */
            repeat: number;
            /**
             * Format: uint32
             * @description Tiles in it.
             */
            tiles: number;
            /** @description Which part. */
            phase: components["schemas"]["Phase"];
            /**
             * Format: uint64
             * @description Its begin on the axis, nanoseconds.
             */
            from_ns: number;
            /**
             * Format: uint64
             * @description Its end.
             */
            to_ns: number;
            /** @description What the step came to; none while it runs. */
            verdict: components["schemas"]["Verdict"] | null;
        };
        /** @description Result above the tiles held. */
        Stop: {
            /** @constant */
            what: "limit";
            /**
             * Format: uint32
             * @description Count of tiles of the step that failed.
             */
            tiles: number;
        } | {
            /** @constant */
            what: "flat";
            /**
             * Format: uint32
             * @description Smallest tested count of tiles that adds no work.
             */
            tiles: number;
            /**
             * Format: double
             * @description Work that one more tile adds there by the curve through all steps, as a share of the
             *     work of a single tile; may be negative.
             */
            gain: number;
        } | {
            /** @constant */
            what: "inconclusive";
            /**
             * Format: uint32
             * @description Count of tiles of the inconclusive step.
             */
            tiles: number;
        };
        /** @description One claim. */
        StudyClaim: {
            /** @description Its name: `A5-one`. */
            id: string;
            /** @description `predicted`, `calibrated`, `input` or `arithmetic`: only what is predicted counts. */
            kind: string;
            /** @description What was published. */
            published: string;
            /** @description What ours came to, with its interval. */
            ours: string;
            /** @description How far it may be off. */
            tolerance: string;
            /** @description `met`, `not-met` or `not-measured`. */
            outcome: string;
            /** @description The outcome in words: `yes, by the mean`. */
            outcome_text: string;
            /**
             * @description Whether it is met by the mean alone: the interval reaches beyond the tolerance.
             * @default false
             */
            is_by_mean: boolean;
            /**
             * @description Why it is not met or not measured, as far as the study says it; none if it is met.
             * @default null
             */
            why: string | null;
            /** @description What is said. */
            text: string;
        };
        /** @description `GET /api/v1/studies`: published claims that were held against the models. */
        StudyList: {
            /** @description Own results first, the newest first; then all shipped studies, by name. */
            studies: components["schemas"]["StudyRow"][];
        };
        /**
         * @description `GET /api/v1/studies/{name}`: a study's claims, published and ours side by side. All cells are
         *     texts with their units, as `tilemark study run` prints them.
         */
        StudyPage: {
            /** @description Its line in the list. */
            row: components["schemas"]["StudyRow"];
            /** @description The program, seed and definitions that made the result, and the command. */
            made_by: string;
            /** @description What is reproduced, where ours differs, what was fitted: paragraphs. */
            notes: string[];
            /** @description How to read the claims. */
            claims_note: string;
            /** @description How many claims of each kind are met: what counts first, then the kinds as they come. */
            tallies: components["schemas"]["StudyTally"][];
            /** @description Every claim, in the study's order. */
            claims: components["schemas"]["StudyClaim"][];
            /** @description What else was found: tables of figures, sources. */
            sections: components["schemas"]["StudySection"][];
        };
        /** @description One line of the list of studies. */
        StudyRow: {
            /** @description Its name, as in paths; of an own result its id. */
            name: string;
            /**
             * @description Whether it is a result of this machine's own, not a shipped page.
             * @default false
             */
            is_own: boolean;
            /**
             * @description When an own result was made, RFC 3339, UTC; none of a shipped page.
             * @default null
             */
            made: string | null;
            /** @description What it is about. */
            title: string;
            /** @description How many claims came out, by kind, in one sentence. */
            sentence: string;
            /**
             * Format: uint32
             * @description Number of claims.
             */
            claims: number;
        };
        /** @description A section below the claims. */
        StudySection: {
            /** @description Its heading. */
            title: string;
            /** @description Its paragraphs. */
            paragraphs: string[];
            /** @description Headings of the table's columns; empty without a table. */
            columns: string[];
            /** @description Rows of the table, one cell for each column. */
            rows: string[][];
        };
        /** @description Claims of one kind. */
        StudyTally: {
            /** @description `predicted`, `calibrated`, `input` or `arithmetic`. */
            kind: string;
            /**
             * Format: uint32
             * @description Number of them.
             */
            claims: number;
            /**
             * Format: uint32
             * @description Of these, those with an outcome.
             */
            measured: number;
            /**
             * Format: uint32
             * @description Of these, those that are met.
             */
            met: number;
        };
        /** @description Response times of the tiles that nothing happened to, during an event against before, kind by kind. */
        Survivors: {
            /** @description The tiles, from 0. */
            tiles: number[];
            /**
             * Format: uint64
             * @description Their I/Os and calls in the measured time before, without the times of other events.
             */
            samples_before: number;
            /**
             * Format: uint64
             * @description The same during it: of every slice that it touched, and of five slices at least.
             */
            samples_during: number;
            /**
             * @description Mean response time during it over what the same I/Os and calls would have taken with the means from
             *     before; 1 is as before.
             */
            times: components["schemas"]["Figure"];
            /** @description The lower end of its interval, from slices drawn again; absent with too few. */
            low: components["schemas"]["Figure"];
            /** @description The upper end. */
            high: components["schemas"]["Figure"];
        };
        /** @description What was measured. */
        TargetFacts: {
            /** @description As given: `dir:/mnt/array`. */
            datastore: string;
            /** @description `directory`, `file`, `block-device`, or [`SIMULATED`]. */
            kind: string;
            /** @description One line a person recognises: `ext4 on nvme0n1 (Samsung SSD 990, 1.8 TiB)`. */
            summary: string;
            /**
             * Format: uint64
             * @description Bytes the run was allowed to use there.
             */
            capacity_bytes: number | null;
            /**
             * Format: uint64
             * @description Bytes of virtual disks it created there.
             */
            provisioned_bytes: number | null;
            /** @description SHA-256 of `array.toml`, the model, in hexadecimal; absent on real storage. */
            array_sha256?: string | null;
            /** @description The second datastore; `provisioned_bytes` of the first counts what is there too. */
            second?: components["schemas"]["TargetFacts"] | null;
            /** @description The tier of this machine that its disks were reached through. */
            tier?: components["schemas"]["ServedTier"] | null;
        };
        /** @description Work of the measured time per second, all tiles together. */
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
             * @description Finished actions per second, all workloads.
             */
            actions_per_s: number;
        };
        /** @description What a tier did. Requests and bytes of the measured time. */
        TierFacts: {
            /** @description Its name. */
            name: string;
            /**
             * Format: uint64
             * @description Room for data.
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
             * @description Largest backlog seen at the end of a second.
             */
            dirty_bytes_max: number;
            /**
             * Format: uint64
             * @description Read requests.
             */
            reads: number;
            /**
             * Format: uint64
             * @description Of those, all of whose pages were resident.
             */
            read_hits: number;
            /**
             * Format: uint64
             * @description Bytes read.
             */
            read_bytes: number;
            /**
             * Format: uint64
             * @description Of those, from resident pages.
             */
            read_hit_bytes: number;
            /**
             * Format: uint64
             * @description Write requests.
             */
            writes: number;
            /**
             * Format: uint64
             * @description Of those, all of whose pages were resident.
             */
            write_hits: number;
            /**
             * Format: uint64
             * @description Bytes written.
             */
            write_bytes: number;
            /**
             * Format: uint64
             * @description Of those, to resident pages.
             */
            write_hit_bytes: number;
            /**
             * Format: uint64
             * @description Writes that the tier alone answered.
             */
            writes_absorbed: number;
            /**
             * Format: uint64
             * @description Read hits served by another host's tier.
             */
            remote_hits: number;
            /**
             * Format: uint64
             * @description Read hits that memory above the pages served; only of a served tier.
             * @default 0
             */
            memory_hits: number;
            /**
             * Format: uint64
             * @description Bytes of blocks in that memory at the end.
             * @default 0
             */
            memory_held_bytes: number;
            /**
             * Format: uint64
             * @description Bytes that these took there.
             * @default 0
             */
            memory_taken_bytes: number;
            /**
             * Format: uint64
             * @description Population by reads: bytes of pages that came in from the storage.
             */
            filled_bytes: number;
            /**
             * Format: uint64
             * @description Population by writes: bytes of pages that a write brought in whole.
             */
            placed_bytes: number;
            /**
             * Format: uint64
             * @description Bytes of pages that left to make room.
             */
            evicted_bytes: number;
            /**
             * Format: uint64
             * @description Bytes that reached the storage late.
             */
            destaged_bytes: number;
            /**
             * Format: uint64
             * @description All bytes written to the tier.
             */
            tier_written_bytes: number;
            /**
             * Format: double
             * @description Share of all requests that the tier alone answered, 0 to 1; null without requests.
             */
            acceleration_rate: number | null;
        };
        /** @description A number that matters, with its proof. */
        TierHero: {
            /** @description What it is. */
            label: string;
            /** @description The number as it is printed, with its unit; or why there is none. */
            text: string;
            /**
             * Format: double
             * @description The number, unscaled.
             */
            value: number | null;
            /** @description Its unit. */
            unit: string;
            /**
             * Format: uint64
             * @description Samples behind it.
             */
            samples: number | null;
            /** @description Over which time, and what it is held against. */
            note: string;
            /** @description Its course, at most 60 points. */
            spark: (number | null)[];
        };
        /** @description `tier`: what acceleration tiers did. */
        TierPage: {
            /** @description What it did in one sentence, or why there is nothing to see. */
            sentence: string;
            /** @description Whether a tier took part. */
            is_present: boolean;
            /** @description Whether tiers are modelled. */
            is_modelled: boolean;
            /**
             * @description Four numbers: reads served, bytes kept off the backing store, writes accelerated, latency
             *     saved.
             */
            heroes: components["schemas"]["TierHero"][];
            /** @description Over time, each tier. */
            tiers: components["schemas"]["TierSeries"][];
            /** @description Sums of each step. */
            steps: components["schemas"]["TierSteps"][];
        };
        /** @description What a tier did, a second of time under load. Each list has one entry a point. */
        TierRates: {
            /** @description Reads of pages. */
            reads_per_s: number[];
            /** @description Served by the tier of the own host, out of its pages or log. */
            own_hits_per_s: number[];
            /** @description Served by memory above them. */
            memory_hits_per_s: number[];
            /** @description Served by another host's share. */
            remote_hits_per_s: number[];
            /** @description Not served by the tier. */
            misses_per_s: number[];
            /** @description Writes of pages. */
            writes_per_s: number[];
            /** @description Bytes that came in because of a read. */
            filled_bytes_per_s: number[];
            /** @description Bytes that came in because of a write. */
            placed_bytes_per_s: number[];
            /** @description Bytes evicted. */
            evicted_bytes_per_s: number[];
            /** @description Bytes written to the backing store. */
            destaged_bytes_per_s: number[];
        };
        /**
         * @description What a tier of pages of 64 KiB would serve: LRU, write-back, everything comes in, empty at
         *     first. An I/O is served when all its pages are; of a sample of pages (`sampled_share` below
         *     1) each page of an I/O counts for itself.
         */
        TierRow: {
            /** @description Whose. */
            vm: string;
            /**
             * Format: uint64
             * @description Size of the tier.
             */
            tier_bytes: number;
            /**
             * Format: double
             * @description Reads that the tier alone serves, of all reads.
             */
            reads_served: number | null;
            /**
             * Format: double
             * @description I/Os that the tier alone serves, of all.
             */
            io_served: number | null;
            /**
             * Format: double
             * @description Bytes written to the tier.
             */
            tier_written_bytes: number;
            /**
             * Format: uint64
             * @description References to pages that were simulated.
             */
            references: number;
            /**
             * Format: double
             * @description Share of the pages that was looked at; 1 is exact.
             */
            sampled_share: number;
        };
        /** @description One tier over time. Each list has one entry a point. */
        TierSeries: {
            /** @description Its name. */
            name: string;
            /**
             * Format: uint64
             * @description Its capacity, bytes.
             */
            capacity_bytes: number;
            /** @description What it does with writes, if known. */
            policy: components["schemas"]["WritePolicy"] | null;
            /** @description Begin of each point, nanoseconds on the run's axis. */
            at_ns: number[];
            /** @description Length of each point. */
            width_ns: number[];
            /** @description Reads of pages. */
            reads: number[];
            /** @description Served by the tier. */
            read_hits: number[];
            /** @description Served by the tier, as a share of reads, 0 to 1; none without reads. */
            read_hit_share: (number | null)[];
            /** @description Of these, by another host's share. */
            remote_hits: number[];
            /** @description Of those of the own host, by memory above the pages. */
            memory_hits: number[];
            /** @description Writes of pages. */
            writes: number[];
            /** @description Answered by the tier before the backing store has them. */
            writes_absorbed: number[];
            /** @description The same as a share of writes, 0 to 1; none without writes. */
            writes_absorbed_share: (number | null)[];
            /** @description The same numbers a second. */
            rates: components["schemas"]["TierRates"];
            /** @description Bytes that came in because of a read. */
            filled_bytes: number[];
            /** @description Bytes that came in because of a write. */
            placed_bytes: number[];
            /** @description Bytes evicted. */
            evicted_bytes: number[];
            /** @description Bytes written to the backing store. */
            destaged_bytes: number[];
            /** @description Bytes held at the end of the point. */
            resident_bytes: number[];
            /** @description Bytes of blocks in memory at the end of the point. */
            memory_held_bytes: number[];
            /** @description Bytes that these take there, compressed or not. */
            memory_taken_bytes: number[];
            /** @description What memory holds at the end, and in how much, in a sentence; empty where there is none. */
            memory_sentence: string;
            /** @description How much it holds at the end, and what was evicted, in a sentence. */
            held_sentence: string;
            /** @description Of these, not yet on the backing store. */
            dirty_bytes: number[];
            /** @description How much waited at most to be written to the backing store, in a sentence. */
            dirty_sentence: string;
            /**
             * @description Whether what is written to the backing store follows what is written to the tier within
             *     5 % in all, so that there is no gap between the two to see.
             */
            is_destaged_at_once: boolean;
            /** @description What the application sees: reads, 99th percentile, nanoseconds. */
            observed_read_p99_ns: (number | null)[];
            /** @description What the application sees: writes. */
            observed_write_p99_ns: (number | null)[];
            /** @description What the backing store answers, reads; empty if the run does not have it. */
            backing_read_p99_ns: (number | null)[];
            /** @description What the backing store answers, writes; empty if the run does not have it. */
            backing_write_p99_ns: (number | null)[];
        };
        /** @description Shares of what a tier did in one step, 0 to 1. */
        TierShares: {
            /**
             * Format: double
             * @description Reads served by the tier, of reads; none without reads.
             */
            read_hit: number | null;
            /**
             * Format: double
             * @description Writes that it alone answered, of writes; none without writes.
             */
            writes_absorbed: number | null;
        };
        /** @description Sums of one step. */
        TierSteps: {
            /**
             * Format: uint32
             * @description Step of the ladder, from 1.
             */
            step: number;
            /**
             * Format: uint32
             * @description Repeat, from 1.
             */
            repeat: number;
            /**
             * Format: uint32
             * @description Tiles in it.
             */
            tiles: number;
            /** @description Each tier. */
            tiers: components["schemas"]["TierFacts"][];
            /** @description Shares of each tier, in the same order. */
            shares: components["schemas"]["TierShares"][];
        };
        /** @description `curve`: what more tiles bring, and what breaks. */
        TileCurve: {
            /** @description Where it breaks, and why. */
            sentence: string;
            /**
             * Format: uint32
             * @description Tiles held.
             */
            tiles_held: number | null;
            /**
             * Format: uint32
             * @description The least number of tiles that failed.
             */
            tiles_failed: number | null;
            /** @description The limit that broke first. */
            broken: string | null;
            /** @description Names of limits: `shop order p95`. */
            limits: string[];
            /** @description By tiles, then repeat. */
            points: components["schemas"]["CurvePoint"][];
        };
        /** @description The tile the datastore was filled with. */
        TileFacts: {
            /** @description Its name. */
            name: string;
            /** @description SHA-256 of its resolved definition, in hexadecimal: equal hashes are equal loads. */
            sha256: string;
            /**
             * Format: uint32
             * @description Virtual machines in one tile.
             */
            vms: number;
            /**
             * Format: uint32
             * @description Workloads in one tile, several copies counted each.
             */
            workloads: number;
            /**
             * Format: uint64
             * @description Bytes of virtual disks in one tile, after scaling.
             */
            disk_bytes: number;
            /** @description Infrastructure operations that ran beside the tiles; absent if none did. */
            operations?: components["schemas"]["OperationsFacts"] | null;
            /** @description The services that its workloads call, by name; empty if they call none. */
            endpoints?: string[];
            /** @description The virtual machines that somebody has, of which the tile is a part; absent of other tiles. */
            estate?: components["schemas"]["EstateFacts"] | null;
        };
        /** @description A tile that another host drives from then on, or that stood still. */
        TileMove: {
            /**
             * Format: uint32
             * @description Which, from 0.
             */
            tile: number;
            /** @description Who drove it. */
            from: string;
            /** @description Who drives it; absent if nobody does. */
            to?: string | null;
            /**
             * Format: uint64
             * @description Since when it stood still: by the clock of `from`, or the last sign of its life.
             */
            stood_ns: number;
            /**
             * Format: uint64
             * @description When it went on, by the clock of `to`; absent if it never did.
             */
            goes_on_ns?: number | null;
            /**
             * Format: uint64
             * @description How long it stood still: the switch-over of a move, the outage of a loss. It is as sure as the two
             *     hosts' clocks are (`clock_uncertainty_ns` of both).
             */
            outage_ns?: number | null;
            /** @description Whether its users began anew, because what they were was lost. */
            begins_anew: boolean;
        };
        /** @description One tile's part of the score. */
        TileScore: {
            /**
             * Format: uint32
             * @description Tile, from 0.
             */
            tile: number;
            /** @description Geometric mean of its workloads' normalised metrics; 1 is one tile's worth. */
            geometric_mean: components["schemas"]["Figure"];
        };
        /** @description Confidence interval of the most tiles that hold. */
        TilesInterval: {
            /**
             * Format: uint32
             * @description Lower end, in tiles.
             */
            low: number;
            /**
             * Format: uint32
             * @description Upper end, in tiles; null if it is beyond what was or could be tried.
             */
            high: number | null;
            /**
             * Format: uint32
             * @description Most probable count by all steps together; it may lie between counts that ran. Absent if no
             *     curve was fitted; then it is `tiles_held`.
             */
            most_likely?: number | null;
            /**
             * Format: double
             * @description Share of such intervals that contain the true count, such as 0.95.
             */
            confidence: number;
        };
        /** @description The program that measured. */
        ToolFacts: {
            /** @description Its version. */
            version: string;
            /** @description The source commit it was built from; null if unknown. */
            commit: string | null;
        };
        /** @description Where an item was at some time. */
        TrailPoint: {
            /**
             * Format: uint64
             * @description Begin, nanoseconds on the run's axis.
             */
            at_ns: number;
            /**
             * Format: double
             * @description I/Os a second.
             */
            operations_per_s: number;
            /**
             * Format: double
             * @description Bytes a second.
             */
            bytes_per_s: number;
            /**
             * Format: uint64
             * @description Median service time.
             */
            p50_ns: number | null;
            /**
             * Format: uint64
             * @description 99th percentile.
             */
            p99_ns: number | null;
        };
        /**
         * @description The tiles' actions while infrastructure operations did I/O, against the same actions while none
         *     did.
         */
        UnderOperations: {
            /**
             * Format: double
             * @description Share of the measured time, slice by slice, in which an operation did I/O.
             */
            share_of_time: number;
            /** @description Response times of the tiles' actions in that time, against the rest of the time. */
            against_rest: components["schemas"]["AgainstOthers"];
        };
        /** @description What a step, or a limit in it, came to. */
        Verdict: "passed" | "failed" | "inconclusive" | "interrupted";
        /**
         * @description What the virtual CPUs of a virtual machine did; of several of the same name, their means,
         *     and the largest of any of them.
         */
        VmFacts: {
            /** @description Workload and virtual machine: `shop/shop-db`. */
            name: string;
            /**
             * Format: uint32
             * @description How many of that name.
             */
            count: number;
            /**
             * Format: double
             * @description Share of all its virtual CPUs that was used.
             */
            used: number;
            /**
             * Format: double
             * @description Largest of a second.
             */
            used_max_1s: number;
            /**
             * Format: double
             * @description Largest of sums over 20 seconds.
             */
            used_max_20s: number;
            /**
             * Format: double
             * @description Ready time per second of run, in seconds, all its virtual CPUs together.
             */
            ready: number;
            /**
             * Format: double
             * @description Largest of a second.
             */
            ready_max_1s: number;
            /**
             * Format: double
             * @description Largest of sums over 20 seconds, per second.
             */
            ready_max_20s: number;
        };
        /** @description What a broken action's own dialogue waited for. */
        Wait: {
            /** @description What it waited for. */
            what: components["schemas"]["Waited"];
            /**
             * Format: double
             * @description Its share of the action's mean response time, 0 to 1.
             */
            share: number;
        };
        /** @description What an action can wait for. */
        Waited: {
            /** @constant */
            on: "reads";
            /** @description The disk's name in the workload. */
            disk: string;
        } | {
            /** @constant */
            on: "writes";
            /** @description The disk's name in the workload. */
            disk: string;
        } | {
            /** @constant */
            on: "flushes";
            /** @description The disk's name in the workload. */
            disk: string;
        } | {
            /** @constant */
            on: "calls";
            /** @description The endpoint's name in the workload. */
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
        /** @description How a step warmed up. */
        WarmUp: {
            /** @description The rule that decided when it was warm. */
            rule: string;
            /** @description Whether the rule was met before its cap on time. */
            reached: boolean;
            /**
             * Format: uint64
             * @description How long it took, in nanoseconds.
             */
            duration_ns: number;
            /** @description What the rule saw. */
            detail: string;
        };
        /** @description Something a reader should know before trusting the numbers. */
        Warning: {
            /** @description Stable identifier: `not-steady`. */
            id: string;
            /** @description What it means, in a sentence. */
            text: string;
            /** @description The measured value with its unit, if there is one. */
            value: string | null;
            /** @description The limit it is held against, with its unit, if there is one. */
            limit: string | null;
            /** @description What to try next, if anything helps. */
            hint: string | null;
        };
        /** @description Different bytes touched, in pages of 4 KiB. */
        WorkingSetRow: {
            /** @description Whose. */
            vm: string;
            /**
             * Format: uint64
             * @description Length of the windows, nanoseconds; none for the whole trace.
             */
            window_ns: number | null;
            /**
             * Format: uint64
             * @description Windows with I/O.
             */
            windows: number;
            /**
             * Format: double
             * @description Mean over them.
             */
            mean_bytes: number;
            /**
             * Format: double
             * @description The largest.
             */
            max_bytes: number;
            /**
             * Format: double
             * @description Share of the pages that was looked at; 1 is exact.
             */
            sampled_share: number;
        };
        /** @description What one workload of one tile, or of the infrastructure operations, reached in one step. */
        WorkloadResult: {
            /**
             * Format: uint32
             * @description Tile, from 0; null for infrastructure operations, which belong to no tile.
             */
            tile: number | null;
            /** @description The workload's name. */
            workload: string;
            /**
             * Format: uint32
             * @description Which of several of this workload in the tile, from 0.
             */
            copy: number;
            /** @description How much work it did. */
            metric: components["schemas"]["MetricResult"];
            /** @description Its actions, in the workload's order. */
            actions: components["schemas"]["ActionResult"][];
            /** @description Its limits, in the workload's order. */
            limits: components["schemas"]["LimitResult"][];
        };
        /** @description What a tier does with writes. */
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
            /** @description Why there is no answer (RFC 9457) */
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
            /** @description What does not depend on the lens */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["RunPage"];
                };
            };
            /** @description Why there is no answer (RFC 9457) */
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
            /** @description Why there is no answer (RFC 9457) */
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
                /** @description What is measured [default: iops] */
                m?: "iops" | "bw" | "lat";
                /** @description What lines are drawn [default: rw] */
                by?: "none" | "rw" | "bs" | "wl" | "tile" | "host" | "sel";
                /** @description Most points over time [default: 600] */
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
            /** @description Why there is no answer (RFC 9457) */
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
                /** @description What is measured [default: iops] */
                m?: "iops" | "bw" | "lat";
                /** @description Most points over time [default: 600] */
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
            /** @description Why there is no answer (RFC 9457) */
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
                /** @description What is measured [default: iops] */
                m?: "iops" | "bw" | "lat";
                /** @description Most points over time [default: 600] */
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
            /** @description Why there is no answer (RFC 9457) */
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
                /** @description Most points over time [default: 600] */
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
            /** @description Why there is no answer (RFC 9457) */
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
                /** @description What lines are drawn [default: rw] */
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
            /** @description Why there is no answer (RFC 9457) */
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
            /** @description Why there is no answer (RFC 9457) */
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
            /** @description Why there is no answer (RFC 9457) */
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
            /** @description Why there is no answer (RFC 9457) */
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
            /** @description Why there is no answer (RFC 9457) */
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
            /** @description Why there is no answer (RFC 9457) */
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
                /** @description Most points over time [default: 600] */
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
            /** @description Why there is no answer (RFC 9457) */
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
                /** @description Most points over time [default: 600] */
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
            /** @description Why there is no answer (RFC 9457) */
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
            /** @description Why there is no answer (RFC 9457) */
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
            /** @description What happened during the run */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["EventList"];
                };
            };
            /** @description Why there is no answer (RFC 9457) */
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
            /** @description How the run goes, about once a second: events named state; the last one is named end */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "text/event-stream": components["schemas"]["LiveState"];
                };
            };
            /** @description Why there is no answer (RFC 9457) */
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
            /** @description Run b against run a */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["ComparePage"];
                };
            };
            /** @description Why there is no answer (RFC 9457) */
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
            /** @description Own results of studies, and shipped ones */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyList"];
                };
            };
            /** @description Why there is no answer (RFC 9457) */
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
            /** @description A study's claims, published and ours */
            200: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["StudyPage"];
                };
            };
            /** @description Why there is no answer (RFC 9457) */
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
