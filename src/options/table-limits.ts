import type { OptionTable } from './spec.ts';

/** Limits that a result must keep. */
export const LIMIT_OPTIONS = {
  slo: {
    type: 'limits',
    group: 'metrics',
    commands: ['run', 'report'],
    default: null,
    nonEmpty: true,
    metavar: '"METRIC STAT < VALUE" ...',
    help: 'Limits for the whole run, such as "ttft p99 < 500ms", "tpot p95 < 40ms", "errors < 1%" or "goodput > 5"; one that is missed gives exit code 99.',
  },
  'abort-on-slo': {
    type: 'boolean',
    group: 'limits',
    commands: ['run'],
    default: false,
    help: 'End a run whose --slo cannot be kept any more: so many requests are beyond the bound of a percentile, or have failed, that the rest of the run could not make up for it if it were perfect.',
  },
} as const satisfies OptionTable;
