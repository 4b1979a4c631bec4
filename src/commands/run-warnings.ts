/** What the way a run went gives to warn about; the figures have their own warnings. */
import type { RunOptions } from '../options/table.ts';
import type { Warning } from '../report/warnings.ts';
import type { LoadResult } from '../transport/coordinator.ts';

/** Warnings for the end of a record file. */
export function runWarnings(options: RunOptions, { outages }: Pick<LoadResult, 'outages'>): readonly Warning[] {
  const out: Warning[] = [];
  if (options.insecure && options.baseUrl.startsWith('https:')) out.push({ code: 'insecure', facts: {} });
  if (outages.length > 0) {
    const lastedS = outages.reduce((sum, outage) => sum + outage.lastedMs, 0) / 1000;
    const failed = outages.reduce((sum, outage) => sum + outage.failed, 0);
    out.push({ code: 'server_away', facts: { times: outages.length, lasted_s: lastedS, failed } });
  }
  return out;
}
