/** How many cases a fuzzer tries: few with every test run, as many as `TROUPE_FUZZ_RUNS` says in a long one. */
export function fuzzRuns(few: number): number {
  const wanted = Number(process.env['TROUPE_FUZZ_RUNS'] ?? few);
  return Number.isInteger(wanted) && wanted > 0 ? wanted : few;
}

/** A long run has no time limit. */
export function fuzzTimeoutMs(runs: number): number {
  return 120_000 + runs * 3_000;
}
