import type { OptionTable } from './spec.ts';

/** The GPUs of the host. */
export const HOST_OPTIONS = {
  gpus: {
    type: 'boolean',
    group: 'server',
    commands: ['run'],
    default: true,
    negatable: true,
    help: 'Sample the GPUs during the run where nvidia-smi is at hand and the server is on this machine, or by --gpu-host.',
  },
  'gpu-host': {
    type: 'string',
    group: 'server',
    commands: ['run'],
    default: null,
    metavar: 'USER@HOST',
    help: 'Sample the GPUs of this host, over ssh without a password.',
  },
} as const satisfies OptionTable;
