/** Makes tests of fault runs: each run happens once, its rows are compared together so that a failure shows all that differ. */
import { expect, it } from 'vitest';
import type { FaultRun } from './fault-rows.ts';

/** One test per run. */
export function testFaultRuns(runs: readonly FaultRun[]): void {
  for (const { title, run } of runs) {
    it(title, { timeout: 60_000 }, async () => {
      const rows = await run();
      const wrong = rows
        .filter(({ problems }) => problems.length > 0)
        .map(({ name, problems }) => ({ name, problems }));
      expect(wrong).toEqual([]);
      // A run without rows would pass whatever the program does.
      expect(rows.length).toBeGreaterThan(1);
    });
  }
}
