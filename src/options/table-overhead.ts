import type { OptionTable } from './spec.ts';

/** The self-benchmark. --tokens, --ttft, --itl, --lockstep, --workers, --duration and --json stand in the other tables. */
export const OVERHEAD_OPTIONS = {
  levels: {
    type: 'csv-numbers',
    group: 'overhead',
    commands: ['overhead'],
    default: [1, 10, 100, 256, 1000],
    min: 1,
    metavar: 'N,N',
    help: 'Numbers of streams that are measured, each in a run of its own.',
  },
  limit: {
    type: 'duration',
    bareUnit: 'ms',
    group: 'overhead',
    commands: ['overhead'],
    default: 5,
    above: 0,
    metavar: 'TIME',
    help: 'The highest event rate is searched at which 99 % of the events are seen within this time after they were sent.',
  },
  search: {
    type: 'boolean',
    group: 'overhead',
    commands: ['overhead'],
    default: true,
    negatable: true,
    help: 'Search the highest event rate.',
  },
} as const satisfies OptionTable;
