import type { OptionTable } from './spec.ts';

/** What `compare` takes. --json stands in another table. */
export const COMPARE_OPTIONS = {
  'fail-on': {
    type: 'words',
    group: 'compare',
    commands: ['compare'],
    default: null,
    nonEmpty: true,
    metavar: '"KEY > +N%" ...',
    help: 'Differences from the first file that give exit code 99: a key of the result and a bound in percent or in its own unit, such as "mean_ttft_ms > +10%" or "output_throughput < -5%"; of sweeps at any level, or "knee < -10%".',
  },
  margin: {
    type: 'share',
    group: 'compare',
    commands: ['compare'],
    default: 0.02,
    metavar: 'SHARE',
    help: 'Differences that are surely smaller than this are called no difference.',
  },
  force: {
    type: 'boolean',
    group: 'compare',
    commands: ['compare'],
    default: false,
    help: 'Compare what differs in samples, lengths, model or load all the same.',
  },
} as const satisfies OptionTable;
