/** How requests were sent against their plan: block, line and warning. Only for runs whose requests had times at which they were due. */
import { LATE_S } from '../aggregate/plan.ts';
import { healthOf } from '../aggregate/quality-input.ts';
import type { PlanSummary, RunSummary } from '../aggregate/summary.ts';
import type { RecordEnd } from '../record/record.ts';
import { seriesBlock } from './series-block.ts';
import type { ReportSettings } from './settings.ts';
import type { Warning } from './warnings.ts';

/** Share of late requests from which the plan was not kept. */
const MANY_LATE = 0.05;
/** Share of the delays that one cause must explain to be called the cause. */
const MOST = 0.8;

/** The block `plan`; undefined where there was none. */
export function planBlock(
  { plan }: RunSummary,
  settings: ReportSettings,
  end: RecordEnd,
): Record<string, unknown> | undefined {
  if (plan === null || plan.requests === 0) return undefined;
  const workers = healthOf(end['client_health'])?.workers ?? [];
  return {
    kept: !isBroken(plan),
    requests: plan.requests,
    late: plan.late,
    late_share: plan.late / plan.requests,
    late_from_ms: LATE_S * 1000,
    ...(Number.isFinite(settings.requestRate) ? { asked_rate: settings.requestRate } : {}),
    ...(plan.duePerS === null ? {} : { due_rate: plan.duePerS }),
    ...(plan.sentPerS === null ? {} : { sent_rate: plan.sentPerS }),
    late_by: seriesBlock(plan.lateBy),
    ...(plan.slotWait === null ? {} : { waiting_for_a_place: seriesBlock(plan.slotWait) }),
    ...(plan.clientLate === null ? {} : { client_late: seriesBlock(plan.clientLate) }),
    ...(workers.length === 0
      ? {}
      : {
          client_late_by_workers: {
            p99_ms: Math.max(...workers.map(({ sendP99Ms }) => sendP99Ms)),
            max_ms: Math.max(...workers.map(({ sendMaxMs }) => sendMaxMs)),
          },
        }),
  };
}

/** One line, when a request was late. */
export function planLines({ plan }: RunSummary): string[] {
  if (plan === null || plan.late === 0) return [];
  const { late, requests, lateBy } = plan;
  const rates =
    plan.duePerS === null || plan.sentPerS === null
      ? ''
      : `; due at ${plan.duePerS.toFixed(2)}/s, sent at ${plan.sentPerS.toFixed(2)}/s`;
  const parts =
    plan.slotWait === null || plan.clientLate === null
      ? ''
      : ` (waiting for a place under --max-concurrency ${plan.slotWait.meanMs.toFixed(1)}, the client itself ${plan.clientLate.meanMs.toFixed(1)})`;
  return [
    `plan: ${late.toLocaleString('en-US')} of ${requests.toLocaleString('en-US')} requests were sent more than ${LATE_S * 1000} ms late${rates}; ` +
      `late by mean ${lateBy.meanMs.toFixed(1)}${parts}, p99 ${(lateBy.percentilesMs.get(99) ?? 0).toFixed(1)}, max ${lateBy.maxMs.toFixed(1)} ms`,
  ];
}

/** The warning that the plan was not kept: an open loop must not become a closed one in silence. */
export function planFindings({ plan }: RunSummary, { maxConcurrency }: ReportSettings): Warning[] {
  if (plan === null || !isBroken(plan)) return [];
  const { lateBy, slotWait } = plan;
  const waited = slotWait === null || lateBy.meanMs === 0 ? null : slotWait.meanMs / lateBy.meanMs;
  const cause = waited === null ? 'unknown' : waited >= MOST ? 'places' : waited <= 1 - MOST ? 'client' : 'both';
  return [
    {
      code: 'plan_not_kept',
      facts: {
        late: plan.late,
        requests: plan.requests,
        mean_ms: lateBy.meanMs,
        p99_ms: lateBy.percentilesMs.get(99) ?? 0,
        max_ms: lateBy.maxMs,
        due_rate: plan.duePerS,
        sent_rate: plan.sentPerS,
        cause,
        ...(waited === null ? {} : { waited_share: waited }),
        max_concurrency: maxConcurrency,
      },
    },
  ];
}

function isBroken({ late, requests }: PlanSummary): boolean {
  return requests > 0 && late / requests >= MANY_LATE;
}
