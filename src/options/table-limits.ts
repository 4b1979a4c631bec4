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
  'num-runs': {
    type: 'int',
    group: 'load',
    commands: ['run'],
    default: 1,
    min: 1,
    max: 1000,
    metavar: 'N',
    help: 'Measure the same requests so often, one run after the other; each has its own files (with its number in the name), and the last result has the spread of all ("repeats").',
  },
  'abort-on-slo': {
    type: 'boolean',
    group: 'limits',
    commands: ['run'],
    default: false,
    help: 'End a run whose --slo cannot be kept any more: so many requests are beyond the bound of a percentile, or have failed, that the rest of the run could not make up for it if it were perfect.',
  },
} as const satisfies OptionTable;
